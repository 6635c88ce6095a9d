"""Changes and no changes, by hand, written before the gates were last tuned and not looked
at while they were: each line is what is known of somebody, and what is told later.
"""

CHANGES = """\
Rosalind rents a studio above the bakery | Rosalind has bought a terraced house and left the studio above the bakery
The user's parking permit is for zone B | The user's parking permit is for zone D as of this month
Ignatius sits on the parish council | Ignatius was voted off the parish council in March
Wilma's canary is called Pavarotti | Wilma's canary Pavarotti flew away and never came back
The user has a season ticket for the opera | The user gave the season ticket for the opera back
Leopold's landlord is Mr. Crane | Leopold's landlord is Mrs. Vetch since the house was sold
Agatha grows tomatoes on an allotment in Hove | Agatha gave her allotment in Hove away
Bertram has a stall at the flea market | Bertram closed his stall at the flea market
The user's son Kit is in year four | The user's son Kit is in year five now
Philippa is on crutches | Philippa no longer needs crutches
The user thinks that the vase is Meissen | The vase is not Meissen but a copy, the user learned
Gwendolyn's cousin is called Ferdinand | Gwendolyn's cousin is called Friedrich, not Ferdinand
The user lends the trailer to Moritz | The user got the trailer back from Moritz
Thaddeus is training for a triathlon | Thaddeus has given up training for the triathlon
Constance plans to spend August in Brittany | Constance's August in Brittany is off, she stays at home
The user wants replies in bullet points | The user wants replies in full sentences rather than bullet points
Humphrey is on the waiting list for a kidney | Humphrey has received a kidney
The user's standing desk is on order | The user's standing desk was delivered on 2026-04-02
Ottilie hosts a podcast about moths | Ottilie has ended her podcast about moths
Casper's blood pressure is 150 over 95 | Casper's blood pressure has come down to 128 over 82
The user's bicycle is in the repair shop | The user picked up the bicycle from the repair shop
Lavinia is the treasurer of the rowing club | Lavinia stepped down as treasurer of the rowing club
The user's wife Dora works nights | The user's wife Dora works days now
Edmund owes the user 200 euros | Edmund has paid the user the 200 euros back
The user is insured with Aldana | The user is insured with Brunel since January
Matilda is learning to drive | Matilda passed her driving test
The user believed that the train goes at 8:12 | The train goes at 8:21, the user had read it wrong
Cornelius and Beatrix are business partners | Cornelius and Beatrix have gone separate ways
The user's favourite pizzeria is Da Nino | The user's favourite pizzeria is Sole now
The user's lease runs until September | The user's lease was extended until December
"""

SAME_PERSON = """\
Rosalind rents a studio above the bakery | Rosalind bought a kettle at the bakery
The user's parking permit is for zone B | The user got a parking ticket in zone D
Ignatius sits on the parish council | Ignatius was voted best baker of the parish
Wilma's canary is called Pavarotti | Wilma's cat Callas flew off the shelf
The user has a season ticket for the opera | The user gave a ticket for the circus to Jo
Leopold's landlord is Mr. Crane | Leopold sold Mr. Crane a lamp
Agatha grows tomatoes on an allotment in Hove | Agatha gave away ten kilos of tomatoes
Bertram has a stall at the flea market | Bertram was at the market when it closed
The user's son Kit is in year four | The user's daughter Peg is in year five now
Philippa is on crutches | Philippa no longer needs the car on Mondays
The user thinks that the vase is Meissen | The user broke a vase, but not the one from Meissen
Gwendolyn's cousin is called Ferdinand | Gwendolyn's uncle is called Friedrich
The user lends the trailer to Moritz | The user got a postcard from Moritz
Thaddeus is training for a triathlon | Thaddeus has given up sugar
Constance plans to spend August in Brittany | Constance's July in Kent is off
The user wants replies in bullet points | The user wants the newsletter in full
Humphrey is on the waiting list for a kidney | Humphrey has received a medal
The user's standing desk is on order | The user's old desk was given to the school
Ottilie hosts a podcast about moths | Ottilie has ended her lease on the studio
Casper's blood pressure is 150 over 95 | Casper's weight has come down to 82 kilos
The user's bicycle is in the repair shop | The user picked up the parcel from the corner shop
Lavinia is the treasurer of the rowing club | Lavinia stepped down from the chess team
The user's wife Dora works nights | The user works days now
Edmund owes the user 200 euros | Edmund has paid the user's sister 50 euros
The user is insured with Aldana | The user's bike is insured with Brunel
Matilda is learning to drive | Matilda passed her Latin exam
The user believed that the train goes at 8:12 | The bus goes at 8:21
Cornelius and Beatrix are business partners | Cornelius and Ulla have gone on holiday
The user's favourite pizzeria is Da Nino | The user's favourite bakery is Sole
The user's lease runs until September | The user's course was extended until December
The user has two cats | The user's neighbour's cat died
Ruprecht sold his piano | Ruprecht plays the piano in a bar on Fridays
The user has a violin from 1890 | The user's violin lesson is cancelled
Selma has a house in Kent | Selma's trip to Kent is off
The user likes the film Vertigo | The user no longer likes the cinema in Park Street
Barnaby's brother is a pilot | Barnaby is not a pilot but a steward
The user has a dog called Fig | The user found a fig tree in the garden
Adela's father lives in Split | Adela and Marko split up
The user has tickets for the derby on 3 May | The user's ticket for the museum was given back
Rufina is in charge of the choir's music | Rufina was off work with the flu for two days
"""


def fresh_changes() -> list[tuple[str, str]]:
    """(as it was, as it has become)."""
    return _pairs(CHANGES)


def fresh_others() -> list[tuple[str, str]]:
    """(what is known, what is told later of something else)."""
    return _pairs(SAME_PERSON)


def _pairs(lines: str) -> list[tuple[str, str]]:
    return [
        (old, new) for old, _, new in (x.partition(" | ") for x in lines.splitlines())
    ]
