"""What code decides about facts that a model proposes. Pure.

guards       whether two near texts are one fact
provenance   whether a fact is borne out by the turns that it names
roles        what a fact may be, given who said its sources
gates        whether a fact may take the place of another
echo         lines of a context block that come back in a message

    gates -> matters -> facets, topics, endings, posts     what two facts are about
    roles -> mentions, orders, subjects                    whose words, and about whom
    provenance -> evidence, quotes, spoken                 what turns say, and when
    guards, facets -> reading -> figures, forms, tokens, words
"""
