"""How people write words of time in haste: short for chats, and with the common slips."""

_HASTY = """
    yesterday: yday yesturday yesterady yestarday yesterdy ystrday
    tomorrow: tmrw tmr tmrrw tmoro tomoz tommorow tommorrow tomorow tomorro 2moro 2morrow
    tonight: tonite tonght 2nite 2night
    today: 2day
    night: nite
    afternoon: arvo
    minute: min
    minutes: mins
    hour: hr
    hours: hrs
    week: wk
    weeks: wks
    weekend: wkend wknd wkd
    weekends: wkends wknds
    month: mth
    months: mths mnths mos
    year: yr
    years: yrs
    january: janurary januray janaury
    february: febuary feburary februrary
    march: marhc
    april: arpil aprl
    august: agust augst
    september: septemeber septmber setember
    october: ocotber octobar
    november: novemeber novmber
    december: decemeber decmber
    monday: mondy
    tuesday: teusday tuseday tusday tuesdy
    wednesday: wensday wednsday wednesdy wendesday
    thursday: thrusday thurday thursdy
    friday: firday fridy
    saturday: saterday saturdy
    sunday: sundy
    wed: weds
    morning: mornin mrng
    autumn: autum
    centuries: centurys
"""


def _table() -> dict[str, str]:
    rows = (line.split(": ") for line in _HASTY.strip().splitlines())
    return {word: meant.strip() for meant, spelled in rows for word in spelled.split()}


SPELLED = _table()
"""The word that is meant, by how it is written."""
