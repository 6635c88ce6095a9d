"""Whether a text may speak of a time, told without the grammar that reads it."""

import re

_SPELLED = """
    2day 2moro 2morrow 2night 2nite afternoon afternoons agust anzac apr april aprl
    armistice arpil arvo ascension ash aug aughts augst august australia autum autumn
    autumns bastille black bonfire boxing burns canada centuries century centurys
    christmas christmases cinco columbus corpus couple cyber day days dec decade decades
    december decemeber decmber dozen earth easter eight eighteen eighteenth eighth
    eighties eighty eleven eleventh epiphany evening evenings fall father fathers fawkes
    feb february februrary febuary feburary few fifteen fifteenth fifth fifties fifty
    firday first five forties fortnight fortnights forty four fourteen fourteenth fourth
    fri friday fridays fridy good groundhog hallowe halloween handful hogmanay holy hour
    hours hr hrs independence indigenous jan janaury january janurary januray jul july
    jun june juneteenth labor lately leap lunchtime mar march mardi marhc maundy may
    memorial midday midnight min mins minute minutes mlk mnths mon monday mondays mondy
    month months mornin morning mornings mos mother mothers mrng mtd mth mths new night
    nights nine nineteen nineteenth nineties ninety ninth nite noon noonish noughties
    nov november novemeber novmber nowadays nye ocotber oct octobar october one paddy
    paddys palm pancake pentecost pi president presidents qtd quarter quarters recent
    recently remembrance saint saints sat saterday saturday saturdays saturdy second sep
    sept september septemeber septmber setember seven seventeen seventeenth seventh
    seventies seventy several shrove six sixteen sixteenth sixth sixties sixty souls
    spring springs st summer summers sun sunday sundays sundy tax ten tenth teusday
    thanksgiving third thirteen thirteenth thirties thirty three thrusday thu thur
    thurday thurs thursday thursdays thursdy tmoro tmr tmrrw tmrw today tommorow
    tommorrow tomorow tomorro tomorrow tomoz tonght tonight tonite tue tues tuesday
    tuesdays tuesdy tusday tuseday twelfth twelve twentieth twenty two valentine
    valentines veteran veterans wed wednesday wednesdays wednesdy wednsday weds week
    weekend weekends weeks wendesday wensday whit winter winters wk wkd wkend wkends
    wknd wknds wks xmas yday year years yestarday yesterady yesterday yesterdy yesturday
    yr yrs ystrday ytd
"""
WORDS = frozenset(_SPELLED.split())
"""The words of `hmem.timeparse` of which every English time has one, or a figure."""
_TOKEN = re.compile(r"[0-9]|[a-z]+")


def may_speak_of_time(text: str) -> bool:
    """False only for an English text in which `hmem.timeparse.find` finds nothing."""
    words = _TOKEN.findall(text.lower())
    return any(word in WORDS or word.isdigit() for word in words)
