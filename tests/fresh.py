"""Changes and no changes, by hand: what is known of somebody, what is told later, and the
cosine of both with the model all-MiniLM-L6-v2.

CHANGES and SAME_PERSON were written before the gates were last tuned, and only their counts
were looked at meanwhile. TRAPS were tuned on.
"""

CHANGES = """\
Rosalind rents a studio above the bakery | Rosalind has bought a terraced house and left the studio above the bakery | 0.83
The user's parking permit is for zone B | The user's parking permit is for zone D as of this month | 0.85
Ignatius sits on the parish council | Ignatius was voted off the parish council in March | 0.81
Wilma's canary is called Pavarotti | Wilma's canary Pavarotti flew away and never came back | 0.78
The user has a season ticket for the opera | The user gave the season ticket for the opera back | 0.88
Leopold's landlord is Mr. Crane | Leopold's landlord is Mrs. Vetch since the house was sold | 0.64
Agatha grows tomatoes on an allotment in Hove | Agatha gave her allotment in Hove away | 0.58
Bertram has a stall at the flea market | Bertram closed his stall at the flea market | 0.88
The user's son Kit is in year four | The user's son Kit is in year five now | 0.93
Philippa is on crutches | Philippa no longer needs crutches | 0.93
The user thinks that the vase is Meissen | The vase is not Meissen but a copy, the user learned | 0.84
Gwendolyn's cousin is called Ferdinand | Gwendolyn's cousin is called Friedrich, not Ferdinand | 0.91
The user lends the trailer to Moritz | The user got the trailer back from Moritz | 0.85
Thaddeus is training for a triathlon | Thaddeus has given up training for the triathlon | 0.96
Constance plans to spend August in Brittany | Constance's August in Brittany is off, she stays at home | 0.86
The user wants replies in bullet points | The user wants replies in full sentences rather than bullet points | 0.88
Humphrey is on the waiting list for a kidney | Humphrey has received a kidney | 0.89
The user's standing desk is on order | The user's standing desk was delivered on 2026-04-02 | 0.69
Ottilie hosts a podcast about moths | Ottilie has ended her podcast about moths | 0.85
Casper's blood pressure is 150 over 95 | Casper's blood pressure has come down to 128 over 82 | 0.92
The user's bicycle is in the repair shop | The user picked up the bicycle from the repair shop | 0.87
Lavinia is the treasurer of the rowing club | Lavinia stepped down as treasurer of the rowing club | 0.91
The user's wife Dora works nights | The user's wife Dora works days now | 0.87
Edmund owes the user 200 euros | Edmund has paid the user the 200 euros back | 0.91
The user is insured with Aldana | The user is insured with Brunel since January | 0.66
Matilda is learning to drive | Matilda passed her driving test | 0.79
The user believed that the train goes at 8:12 | The train goes at 8:21, the user had read it wrong | 0.85
Cornelius and Beatrix are business partners | Cornelius and Beatrix have gone separate ways | 0.76
The user's favourite pizzeria is Da Nino | The user's favourite pizzeria is Sole now | 0.71
The user's lease runs until September | The user's lease was extended until December | 0.80
"""

SAME_PERSON = """\
Rosalind rents a studio above the bakery | Rosalind bought a kettle at the bakery | 0.65
The user's parking permit is for zone B | The user got a parking ticket in zone D | 0.70
Ignatius sits on the parish council | Ignatius was voted best baker of the parish | 0.70
Wilma's canary is called Pavarotti | Wilma's cat Callas flew off the shelf | 0.36
The user has a season ticket for the opera | The user gave a ticket for the circus to Jo | 0.45
Leopold's landlord is Mr. Crane | Leopold sold Mr. Crane a lamp | 0.74
Agatha grows tomatoes on an allotment in Hove | Agatha gave away ten kilos of tomatoes | 0.67
Bertram has a stall at the flea market | Bertram was at the market when it closed | 0.71
The user's son Kit is in year four | The user's daughter Peg is in year five now | 0.51
Philippa is on crutches | Philippa no longer needs the car on Mondays | 0.58
The user thinks that the vase is Meissen | The user broke a vase, but not the one from Meissen | 0.77
Gwendolyn's cousin is called Ferdinand | Gwendolyn's uncle is called Friedrich | 0.73
The user lends the trailer to Moritz | The user got a postcard from Moritz | 0.46
Thaddeus is training for a triathlon | Thaddeus has given up sugar | 0.49
Constance plans to spend August in Brittany | Constance's July in Kent is off | 0.58
The user wants replies in bullet points | The user wants the newsletter in full | 0.37
Humphrey is on the waiting list for a kidney | Humphrey has received a medal | 0.59
The user's standing desk is on order | The user's old desk was given to the school | 0.59
Ottilie hosts a podcast about moths | Ottilie has ended her lease on the studio | 0.33
Casper's blood pressure is 150 over 95 | Casper's weight has come down to 82 kilos | 0.64
The user's bicycle is in the repair shop | The user picked up the parcel from the corner shop | 0.39
Lavinia is the treasurer of the rowing club | Lavinia stepped down from the chess team | 0.50
The user's wife Dora works nights | The user works days now | 0.37
Edmund owes the user 200 euros | Edmund has paid the user's sister 50 euros | 0.83
The user is insured with Aldana | The user's bike is insured with Brunel | 0.58
Matilda is learning to drive | Matilda passed her Latin exam | 0.57
The user believed that the train goes at 8:12 | The bus goes at 8:21 | 0.54
Cornelius and Beatrix are business partners | Cornelius and Ulla have gone on holiday | 0.40
The user's favourite pizzeria is Da Nino | The user's favourite bakery is Sole | 0.42
The user's lease runs until September | The user's course was extended until December | 0.47
The user has two cats | The user's neighbour's cat died | 0.63
Ruprecht sold his piano | Ruprecht plays the piano in a bar on Fridays | 0.73
The user has a violin from 1890 | The user's violin lesson is cancelled | 0.50
Selma has a house in Kent | Selma's trip to Kent is off | 0.74
The user likes the film Vertigo | The user no longer likes the cinema in Park Street | 0.53
Barnaby's brother is a pilot | Barnaby is not a pilot but a steward | 0.83
The user has a dog called Fig | The user found a fig tree in the garden | 0.66
Adela's father lives in Split | Adela and Marko split up | 0.61
The user has tickets for the derby on 3 May | The user's ticket for the museum was given back | 0.40
Rufina is in charge of the choir's music | Rufina was off work with the flu for two days | 0.43
"""

TRAPS = """\
Ruth's tutor is Mr. Bell | Ruth's tutor was late on Monday | 0.63
The user's manager is Priya | The user's manager Priya called from Rome | 0.73
The user's doctor is Dr. Ruiz | The user's doctor recommended Dr. Lang for the knee | 0.55
The lead of the project is Jo | The lead of the project is in Lisbon | 0.53
Ana leads the book club | Ana's book club meets at Bea's | 0.79
The user keeps a rabbit, Moppet | The user's neighbour's rabbit Tuff ran away | 0.58
The user works for Balena | Balena fired Chiara | 0.54
Jo has lunch at Balena on Fridays | Balena fired Jo's brother | 0.57
The user has tickets for The Lanterns on 20 August | The Lanterns cancelled the concert of 3 May | 0.55
The user rents a garage in Hull | The user paid the deposit for the garage back to Ida | 0.55
The user owns a canoe | The user gave the paddle back | 0.53
Mo owes the user 50 euros | Mo paid the user 20 euros back | 0.81
Mo is friends with Ida | Mo fell out with Kai | 0.40
Mo does not speak to Ida | Mo made up with Kai | 0.37
The user takes ibuprofen | The user's vet replaced the dog's ibuprofen with another pill | 0.67
The user likes the Mill café | The Mill café replaced Ada with Ben | 0.51
The user is looking for a flat | The user found a flat battery in the drawer | 0.47
The user is looking for a job | The user's brother found a job | 0.62
The user is waiting for the results of the scan | The user received the results of the election | 0.35
Nora's aunt Ida lives in Lviv | Nora's aunt Bo lives in Kyiv, not in Odessa | 0.74
Nora's aunt Ida lives in Lviv | Nora's aunt Bo plays chess, not Ida | 0.60
The user's cat is called Tom | The user's dog is called Rex, not Tomcat | 0.71
The user drinks tea | The user ordered coffee, not tea, on the flight | 0.63
Alma is on parental leave | Alma is back at the gym | 0.60
Alma works as a nurse | Alma is on parental leave | 0.66
Alma writes everything by hand | Alma eats everything now | 0.62
Alma has a degree in law | Alma finished a degree in art | 0.69
Alma lives in Turku | Alma's home of the future is a boat | 0.58
The user's parents have their home in Kent | The user makes a home in Hull | 0.51
The user is engaged to Ada | The user's sister broke off the engagement to Kai | 0.20
The user is a vegetarian | The user cooked meat for the dog | 0.60
The user's left knee hurts | The user's right knee is fine now | 0.85
The user's older brother is a pilot | The user's younger brother is a clerk | 0.65
The user is treasurer of the choir | The user met the treasurer of the club, Ida | 0.49
Kai is the captain of the team | Ida is the captain of the ship | 0.30
The user's car is a Golf | The user's wife's car is a Polo now | 0.59
The user plays the cello | The user stopped playing cards | 0.31
The user no longer eats meat | The user no longer drinks milk | 0.60
The user quit the choir | The user quit the gym | 0.56
The user's phone number ends in 4471 | The user's office number ends in 9023 | 0.72
The user sleeps badly | The user's baby sleeps through the night now | 0.71
The user pays 12 euros for the music service | The user pays 9 euros for the film service now | 0.69
The user goes to Leeds on Mondays | The user is back from Leeds | 0.73
The user wants to learn Greek | The user learned that Greece is hot | 0.58
The user plans a trip to Rome in May | The user's trip to Bonn is off | 0.41
The user booked a table for four | The user's table was delivered | 0.70
The user's son goes to the Waldorf school | The user's daughter attends the public school now | 0.54
The user visits the mother every Sunday | The user's mother no longer drives | 0.40
The user is training for a triathlon | The user bought a triathlon watch | 0.67
The user lends books to Ida | Ida gave the user's umbrella back | 0.54
The assistant should call the user Sasha | The assistant should drop the formality in letters to the bank | 0.47
The user has a gym contract until May | The user signed a phone contract until June | 0.58
The user's bus leaves at 7:05 | The user's train leaves at 7:40 now | 0.71
Oskar is a member of the town council | Oskar was named gardener of the town | 0.74
Ruth's tutor is Mr. Bell | Ruth sold Mr. Bell a desk | 0.69
Pia wears a brace | Pia no longer wears heels on Mondays | 0.62
The user thinks that the painting is a Klee | The user sold a painting, but not the Klee | 0.81
The user lent the drill to Bodo | The user got a letter from Bodo | 0.65
Kurt sold his boat | Kurt rows a boat on Sundays | 0.70
The user works four days a week at the library | The user no longer works at the bakery on Sundays | 0.52
The user is training to be a pilot | The user has stopped training at the gym | 0.43
Jo goes to the gym on Tuesdays | Jo pays 45 a month for the gym | 0.65
Jo's mother is in hospital | The dog of Jo's mother died | 0.68
Ute takes the bus to school | Ute missed the bus to Bonn yesterday | 0.67
The user uses Firefox at work | The user installed Firefox on the mother's laptop | 0.69
Anja's son plays football | Anja's son broke a leg playing football | 0.82
Eva drinks green tea | Eva spilled green tea on the laptop | 0.73
The user has a flight to Oslo on 3 May | The user's flight from Oslo was late | 0.82
Alma lives in Turku | Alma came home from Turku market late | 0.85
The user plays chess with Leon on Fridays | The user lost to Leon at chess on Friday | 0.76
The user has a green bike | The user has taken the bike to the shop | 0.67
"""

COMPARED = 0.4
"""From which cosine on two facts are shown to the gates as close."""
Pair = tuple[str, str, float | None]


def fresh_changes() -> list[Pair]:
    """(as it was, as it has become, cosine)."""
    return _pairs(CHANGES)


def fresh_others() -> list[Pair]:
    """(what is known, what is told later of something else, cosine)."""
    return _pairs(SAME_PERSON)


def traps() -> list[Pair]:
    """The same, tuned on."""
    return _pairs(TRAPS)


def _pairs(lines: str) -> list[Pair]:
    found: list[Pair] = []
    for line in lines.splitlines():
        old, new, cosine = line.split(" | ")
        near = float(cosine)
        found.append((old, new, near if near >= COMPARED else None))
    return found
