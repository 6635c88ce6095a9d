"""Tables of English words that decide whether two sentences can mean one fact. Bounded on
purpose: a word that is in none of them has to be the same in both."""


def _map(pairs: str) -> dict[str, str]:
    """ "a b=x c=y" -> {"a": "x", "b": "x", "c": "y"}."""
    found: dict[str, str] = {}
    waiting: list[str] = []
    for part in pairs.split():
        word, mark, target = part.partition("=")
        waiting.append(word)
        if mark:
            found.update(dict.fromkeys(waiting, target))
            waiting = []
    return found


def _counted(words: str, first: int = 0) -> dict[str, int]:
    """Words by their place."""
    return {word: n for n, word in enumerate(words.split(), first)}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# ---------------------------------------------------------------------- numbers

ONES = _counted(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = _counted("twenty thirty forty fifty sixty seventy eighty ninety", 2)
TENS = {word: 10 * n for word, n in _TENS.items()}
SCALES = {
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
}
ORDINALS = _counted(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
    1,
)
TIMES = {"once": 1, "twice": 2, "thrice": 3}
DOZEN = {"dozen": 12, "dozens": 12}

UNITS = _map(
    "kilometre kilometres kilometer kilometers km=km metre metres meter meters m=m "
    "centimetre centimetres centimeter centimeters cm=cm millimetre millimetres mm=mm "
    "mile miles mi=mile foot feet ft=foot inch inches in=inch yard yards yd=yard "
    "kilogram kilograms kilo kilos kg kgs=kg gram grams g=g lb lbs=lb ounce ounces oz=oz "
    "ton tons tonne tonnes t=ton litre litres liter liters l=l millilitre millilitres ml=ml "
    "gallon gallons=gallon hour hours hr hrs h=hour minute minutes min mins=minute "
    "second seconds sec secs s=second day days d=day week weeks wk wks=week "
    "month months=month year years yr yrs=year degree degrees=degree "
    "celsius centigrade=celsius fahrenheit=fahrenheit percent %=% "
    "dollar dollars usd $ bucks=usd euro euros eur €=eur gbp £ quid=gbp yen jpy ¥=yen "
    "franc francs chf=chf rupee rupees inr ₹=inr cent cents=cent pound pounds=pound "
    "mph=mph kph kmh=kmh mb=mb gb=gb tb=tb kb=kb calorie calories kcal cal=kcal watt watts w=w "
    "time times=times"
)
CURRENCY_SIGNS = _set("$ € £ ¥ ₹ usd eur gbp chf inr jpy")
SHORT_UNITS = _set(
    "km m cm mm mi ft in yd kg kgs g lb lbs oz t l ml hr hrs h min mins sec secs s d wk wks "
    "yr yrs mph kph kmh mb gb tb kb kcal cal w % usd eur gbp chf inr jpy"
)
"""Units only directly behind a number: "5 m", not "m"."""

# ------------------------------------------------------------------------- dates

MONTHS = {
    name: n
    for n, names in enumerate(
        (
            *(
                "january jan",
                "february feb",
                "march mar",
                "april apr",
                "may",
                "june jun",
            ),
            *("july jul", "august aug", "september sep sept", "october oct"),
            *("november nov", "december dec"),
        ),
        1,
    )
    for name in names.split()
}
WEEKDAYS = {
    name: n
    for n, names in enumerate(
        (
            *("monday mon", "tuesday tue tues", "wednesday wed"),
            *("thursday thu thur thurs", "friday fri", "saturday", "sunday"),
        )
    )
    for name in names.split()
}
WORDS_TOO = _set("may march mar jan sep dec mon wed fri thu sun sat august")
"""Months and days that are other words or names as well: they need a capital."""
DATE_LEADS = _map(
    "in on at during= since=since until till=until before=before after=after by=by "
    "from=from to=to around about=around of="
)
YEAR_LEADS = _set(
    "in since until till before after by from to during of year summer spring autumn fall "
    "winter early late mid around circa"
)

# --------------------------------------------------------------- words that do not count

ARTICLES = _set("a an the")
IDLE = _set(
    "currently presently nowadays now actually basically recently lately really "
    "very just still already simply also"
)
SUBJECT_WORDS = _set("i me user")
POSSESSIVE_WORDS = _set("my mine")
CONTRACTED = _map("'s=is 'm=am 're=are 've=have 'll=will 'd=would")
NOTS = _map("can't=can won't=will shan't=shall ain't=is")
BE = _set("is am are was were be been being")
WAS = _set("was were been")
HAVE = _set("has have had having")
DO = _set("do does did")
PRONOUNS_BE = _set("he she it that there here what who i we you they where how")

# ---------------------------------------------------------------------------- verbs

IRREGULAR = _map(
    "went gone=go bought=buy brought=bring came=come did done=do drove driven=drive "
    "ate eaten=eat fell fallen=fall felt=feel found=find flew flown=fly forgot forgotten=forget "
    "gave given=give got gotten=get grew grown=grow had=have heard=hear held=hold kept=keep "
    "knew known=know left=leave lost=lose made=make met=meet paid=pay ran=run said=say "
    "saw seen=see sold=sell sent=send slept=sleep spoke spoken=speak spent=spend "
    "stood=stand stole stolen=steal swam swum=swim taught=teach took taken=take told=tell "
    "thought=think threw thrown=throw understood=understand woke woken=wake wore worn=wear "
    "won=win wrote written=write began begun=begin broke broken=break built=build "
    "caught=catch chose chosen=choose drank drunk=drink fought=fight hid hidden=hide "
    "led=lead lent=lend lay lain=lie meant=mean rode ridden=ride rose risen=rise "
    "sang sung=sing sat=sit shot=shoot stuck=stick swore sworn=swear tore torn=tear "
    "became=become drew drawn=draw dealt=deal dreamt=dream learnt=learn burnt=burn "
    "lit=light smelt=smell spelt=spell was were been=be withdrew withdrawn=withdraw"
)
SYNONYMS = _map(
    "called=named enjoy=like kid children=child mom mum mommy mummy=mother dad daddy=father "
    "grandma granny=grandmother grandpa granddad=grandfather purchase=buy bicycle=bike "
    "television=tv telephone=phone begin=start large=big film=movie flat=apartment "
    "vacation=holiday automobile=car reside=live own=have possess=have each=every till=until "
    "approximately=about around=about roughly=about circa=about picture=photo "
    "photograph=photo physician=doctor colour=color favourite=favorite centre=center "
    "theatre=theater grey=gray neighbour=neighbor organise=organize "
    "travelling=traveling travelled=traveled cancelled=canceled cancelling=canceling "
    "modelling=modeling modelled=modeled labelled=labeled jewellery=jewelry programme=program "
    "teammate=colleague coworker=colleague workmate=colleague sofa=couch"
)
# In "works for Acme" and "works at Acme" the little word does not matter.
AFTER = {
    "work": _map("for at=at"),
    "prefer": _map("over to=to"),
    "employed": _map("at by=by"),
}

# ------------------------------------------------------------ what a difference means

PLURALS = _set("children men women people feet teeth mice geese")

NEGATIONS = _set(
    "not never no none nobody nothing neither nor without hardly barely nolonger stop stopped "
    "quit quits cease lack lacks deny refuse refuses avoid avoids failed fail unable"
)
QUANTIFIERS = _set(
    "all every some any most many few several both only always often sometimes usually rarely "
    "seldom never occasionally daily weekly monthly yearly half whole entire more less least "
    "fewer much little enough twice mostly partly frequently"
)
DIRECTIONS = _set(
    "to from before after over under above below into off onto up down toward towards away "
    "until since than by with without against for in on at near between through across inside "
    "outside behind beside back left right north south east west forward backward"
)
MODALS = _set(
    "will would can could may might must shall should maybe perhaps probably possibly plan "
    "hope want wish consider think intend try if going supposed allegedly"
)
PEOPLE = _set(
    "he she him her his hers they them their we us our you your user assistant mother father "
    "sister brother son daughter wife husband partner girlfriend boyfriend aunt uncle cousin "
    "niece nephew grandmother grandfather boss manager colleague friend neighbor roommate "
    "landlord doctor teacher dog cat pet ex fiance fiancee parent child baby twin stepfather "
    "stepmother godmother godfather"
)
_OPPOSITES = (
    "like:dislike,hate love:hate,dislike before:after increase:decrease,reduce left:right "
    "mother:father sister:brother son:daughter wife:husband aunt:uncle girlfriend:boyfriend "
    "grandmother:grandfather niece:nephew open:close,closed,shut start:stop,end,finish,quit "
    "buy:sell win:lose lose:find arrive:leave,depart join:leave,quit accept:reject,decline,refuse "
    "agree:disagree hot:cold warm:cool,cold big:small tall:short long:short old:young,new "
    "early:late fast:slow high:low more:less,fewer rich:poor happy:sad,unhappy good:bad "
    "best:worst better:worse easy:hard,difficult cheap:expensive married:divorced,single,"
    "unmarried single:engaged,dating vegetarian:carnivore,omnivore allergic:immune "
    "introvert:extrovert pass:fail remember:forget borrow:lend push:pull gain:lose "
    "employed:unemployed,retired alive:dead true:false same:different inside:outside "
    "north:south east:west morning:evening,afternoon,night summer:winter spring:autumn,fall "
    "landlord:tenant teacher:student buyer:seller lender:borrower employer:employee "
    "parent:child host:guest senior:junior upstairs:downstairs front:back first:last "
    "public:private legal:illegal present:absent on:off enable:disable enabled:disabled "
    "light:dark,heavy dry:wet full:empty healthy:sick,ill safe:dangerous approve:deny,reject "
    "approved:denied,rejected cancel:confirm cancelled:confirmed,booked asleep:awake "
    "temporary:permanent full-time:part-time vegan:omnivore sober:drunk import:export "
    "upgrade:downgrade promote:demote promoted:demoted hire:fire hired:fired follow:lead "
    "above:below over:under up:down for:against support:against to:from with:without all:some,none,no always:never,rarely,"
    "sometimes often:rarely,seldom every:no,some,most many:few most:few"
)


def _opposites() -> frozenset[frozenset[str]]:
    pairs = (pair.partition(":") for pair in _OPPOSITES.split())
    return frozenset(
        frozenset((one, other))
        for one, _, others in pairs
        for other in others.split(",")
    )


OPPOSITES = _opposites()
