"""Topics of which a person has one at a time, by the words that speak of them, and how a
statement stands to what is so now. Pure; English.

A topic's words have to say that something is so or becomes so ("lives in", "moved to"):
"visited" is no home, "had dinner with her husband" no change of partner.
"""

import re
from typing import Literal

from hmem.text import normalise

_JOBS = (
    "accountant actor actress analyst architect artist assistant attorney baker banker barber "
    "barista bartender beekeeper biologist bookkeeper bookseller bricklayer broker butcher "
    "caretaker carer carpenter cashier chef chemist cleaner clerk coach cobbler consultant "
    "contractor cook counsellor courier dancer decorator dentist designer developer dietitian "
    "director doctor driver economist editor electrician engineer estate-agent farmer "
    "firefighter fisherman florist freelancer gardener glazier guard guide hairdresser "
    "headmaster housekeeper instructor interpreter investor janitor jeweller journalist judge "
    "labourer lawyer lecturer librarian locksmith machinist manager mason mechanic midwife "
    "miner model musician nanny notary nurse officer operator optician painter paralegal "
    "paramedic pastor pharmacist photographer physicist physiotherapist pilot plumber "
    "policeman porter postman potter priest principal producer professor programmer "
    "psychologist publisher receptionist recruiter reporter researcher roofer sailor "
    "salesman saleswoman scientist seamstress secretary shopkeeper singer soldier surgeon "
    "surveyor tailor teacher technician therapist tiler trader trainer translator trucker "
    "tutor typist vet veterinarian waiter waitress warden watchmaker welder writer"
)
_JOB = "|".join(_JOBS.split())
_NO_TEAM = r"(?!(?:the |a |an )?(?:\w+ )?(?:team|department|role|position|sales|marketing|room))"

_TOPICS = {
    "home": (
        r"\b(?:lives?|living|lived|resides?|residing|relocat\w+|settled|is based|are based"
        rf"|(?:moved?|moves|moving) (?:back |out |in |away |over )?(?:to|from|into|out|in|back) {_NO_TEAM}"
        r"|stays? (?:\w+ )?for good|(?:came|went|returned|moved|is|are|gone) [\w ]{0,30}for good|emigrated|immigrated|(?:has|have|had|makes|made|make) (?:\w+ )?home in|home of [\w ]{1,40} (?:is|has been)|home is|(?<!mail )address|shares? (?:a|the) (?:flat|house"
        r"|apartment|room))\b"
    ),
    "work": (
        r"\b(?:(?:works?|working|worked) (?:now |again |part.time |full.time )?(?:at|for|as|in)"
        r"|jobs?|employed|employer|employment|(?:was|got|been|were) hired|hired (?:by|at|as)|fired|laid off|resign(?:s|ed)?|retire[sd]?|promoted"
        r"|freelanc\w*|unemployed|quit (?:(?:the|her|his|their|my) )?(?:work|post|position|firm|company)|internship"
        r"|(?:started|starts|begins|began) (?:\w+ )?(?:at|as) |was made"
        r"|joined (?:\w+ as|the (?:company|firm|startup)|bolt\b)"
        rf"|(?:is|was|as|been|became|be) (?:now )?(?:a|an|the)? ?(?:[\w\-]+ ){{0,2}}?(?:{_JOB}))\b"
    ),
    "diet": (
        r"\b(?:vegan|vegetarian|(?:meat|fish)[ -]eaters?|pescatarian|omnivore|carnivore|flexitarian|gluten.free"
        r"|plant.based|(?:eats?|eating) (?:\w+ )?(?:meat|everything)|on a \w+ diet)\b"
    ),
    "partner": (
        r"\b(?:(?:is|are|was|were|got|get|been|be|gets) (?:now |not |still |newly )*(?:single"
        r"|married|engaged|divorced|widowed|separated|dating|seeing|together)"
        r"|in a relationship|relationship (?:of|with|is|between)|broke up|split up|broken up"
        r"|(?:broke|called|calls|breaks|broken) off the (?:engagement|wedding)|separated from|going out with|dates |married|divorced|in love with|has no partner"
        r"|has a (?:new )?(?:girlfriend|boyfriend|partner|husband|wife))\b"
    ),
    "smoking": r"\b(?:smok(?:es?|ed|ing)|cigarettes?|nicotine|vap(?:e|es|ing))\b",
    "alcohol": r"\b(?:sober|teetotal\w*|drinks? (?:no )?alcohol|alcohol-free)\b",
    "leave": r"\bon (?:parental|maternity|paternity|sick|study) leave\b|\bback (?:at|to) work\b",
    "age": r"\b(?:\d+|[a-z]+) years? old|\bturned (?:\d+|[a-z]+(?:teen|ty)(?:-[a-z]+)?"
    r"|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)|\bis aged\b|\bage is\b",
    "way": (
        r"\b(?:packed|shipped|ships|delivered|on (?:its|the) way|(?:at|in|through) customs"
        r"|in transit|arrived|dispatched|out for delivery|being repaired|is repaired)\b"
    ),
    "study": r"\b(?:stud(?:y|ies|ied|ying)|majors?|majoring|enrolled in|(?:for|doing|on|pursuing) an? (?:\w+ )?degree in|graduated|student)\b",
    "baby": r"\b(?:pregnant|expecting|is due|was born|gave birth|had (?:a|the|her|his) baby)\b",
}
_TOPIC = {name: re.compile(pattern) for name, pattern in _TOPICS.items()}

_CUT = re.compile(
    r"[,;]?(?<!\bwork)(?<!\bworks)(?<!\bworked)(?<!\bworking) (?:because|since (?!\d|january|february|march|april|may|june|july|august|sept"
    r"|october|november|december|last|then)|after (?!\d)|although|so that|so as|in order|due to"
    r"|thanks to|while|when|whenever|for (?:the|a|an|her|his|their|my|its) (?:new )?(?:job|work"
    r"|railway|doctorate|degree|company|firm|position|studies)|as (?:he|she|they|it|the)"
    r"|who|which|where|in which)\b"
)


_THAT = re.compile(
    r"^.{0,60}\b(?:show(?:s|ed)?|found|finds|confirm(?:s|ed)|turn(?:s|ed) out|means?|clarif(?:ies|ied)"
    r"|corrected|reports?|reported|says|said|mention(?:s|ed)) that (?=\S)"
)


def statement(text: str) -> str:
    """A sentence without who or what says it: "A test showed that ..."."""
    return _THAT.sub("", text, count=1)


_PARTS = re.compile(
    r"[,;]? (?:and|but|so) (?=(?:the user|the assistant|the [a-z]+ (?:is|are|was|has)|[A-Z]))"
)


def clauses(text: str) -> list[str]:
    """A sentence, and its parts where it joins two that have a subject each."""
    whole = statement(text)
    parts = _PARTS.split(whole)
    return [whole, *parts] if len(parts) > 1 else [whole]


def main_clause(text: str) -> str:
    """A sentence up to where it says why, when or which."""
    cut = _CUT.search(text, 8) or _CUT.search(text.lower(), 8)
    return text[: cut.start()] if cut else text


def topics(text: str) -> frozenset[str]:
    """The topics that the main clause of a sentence speaks of."""
    plain = normalise(main_clause(text))
    return frozenset(n for n, pattern in _TOPIC.items() if pattern.search(plain))


# --------------------------------------------------------------------------- stances

Stance = Literal["a plan", "for a while", "in the past", "in addition"]

_PLAN = re.compile(
    r"\b(?:plan(?:s|ned|ning)? (?:to|on|a|an|for)|intend\w*|wish(?:es|ed)?|wants?|wanted|hop(?:es|ed|ing)"
    r"|dream(?:s|ed|t|ing)? (?:of|about)|might|maybe|perhaps|possibly|probably|consider\w*"
    r"|think(?:s|ing)? (?:of|about)|thought (?:of|about)|would (?:like|love|rather)?|could"
    r"|wonder\w*|nearly|almost|declin\w+|refus\w+|offer(?:s|ed)?|offered|appl(?:ies|ied|ying)"
    r"|interview\w*|looking (?:for|at|into)|toy\w* with|if|unsure|undecided|not sure|doubts?"
    r"|going to|will|shall|about to|tempted|joked?|jokes|pretend\w*|imagin\w+|dreams?|novel"
    r"|story|role-?play\w*|said that|says that|jokingly|supposedly|rumou?rs?|is due to|aims?"
    r"|would)\b"
    r"|(?<!in )(?<!since )(?<!until )(?<!of )(?<!last )(?<!next )(?<!early )(?<!late )(?<!by )"
    r"(?<!from )(?<!to )(?<!this )(?<!before )(?<!after )(?<!\d )\bmay (?!\d|and\b|or\b)[a-z]"
)
_WHILE = re.compile(
    r"\buntil\b|\btemporar\w+|\bfor now\b|\bfor the time being\b|\bfor the moment\b"
    r"|\bfor (?:a|one|two|three|four|five|six|seven|eight|nine|ten|\d+|some|the) (?:\w+ )?(?:day"
    r"|night|week|weekend|month|summer|winter|spring|season|semester|term|holiday)s?\b"
    r"|\bthis (?:week|weekend|month)\b|\bover the (?:weekend|holidays)\b|\bduring\b"
    r"|\b(?:on|for) (?:holiday|vacation|business)\b|\bvisit\w*|\bas a guest\b|\bhouse-?sit\w*"
    r"|\b(?:not|no|nothing|never) (?:[^.]{0,40} )?in the week of\b|\bspen[dt]s?\b"
)
_PAST = re.compile(
    r"\bused to\b|\bonce (?:lived|worked|was|had)\b|\bformerly\b|\bback then\b|\bas a (?:child|kid"
    r"|student|teenager|boy|girl)\b|\bin (?:her|his|their) (?:youth|childhood|twenties|teens)\b"
    r"|(?<!has )(?<!have )(?<!had )(?<!never )\b(?:lived|worked|studied|smoked|resided) "
    r"|\b(?:was|were) (?:a|an|the|at|in|with|once|married to|engaged to) (?!relationship)"
)
_MORE = re.compile(
    r"\b(?:also|too|as well|another|in addition|additionally|besides|a second|a third|on the side"
    r"|one more|extra|moonlights?|part of the week|as a second)\b"
)


def stances(text: str) -> frozenset[Stance]:
    """How a sentence stands to what is so now; empty where it says that it is so."""
    plain = normalise(text)
    first = _CLAUSE.split(plain, maxsplit=1)[0]
    found: tuple[tuple[Stance, re.Pattern[str]], ...] = (
        ("a plan", _PLAN),
        ("for a while", _WHILE),
        ("in the past", _PAST),
        ("in addition", _MORE),
    )
    return frozenset(
        stance
        for stance, pattern in found
        if pattern.search(first if stance == "a plan" else plain)
    )


_CLAUSE = re.compile(r",? (?:and|but)\b|;")
