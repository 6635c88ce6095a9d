"""What changes in a life, by hand: each line is one matter of one user, as it was and as it
is told to have become. Facts of different lines are about different matters.
"""

CHANGES = """\
home | The user lives in Dublin | The user moved to Cork last month
home 2 | The user's sister Nora lives in Galway | The user's sister Nora relocated to Leeds
flat | The user rents a two-room flat on Mill Lane | The user gave up the flat on Mill Lane and rents a house
job | The user works as a nurse at St. Anne's | The user left St. Anne's and works at a school now
boss | The user's manager is Priya | The user's manager is Owen now, Priya left
title | The user is a junior developer | The user was promoted to senior developer
hours | The user works four days a week | The user works five days a week since May
commute | The user commutes by bus | The user commutes by bike instead of the bus
salary | The user earns 2,800 euros a month | The user earns 3,100 euros a month after a raise
diet | The user is vegetarian | The user eats meat again
allergy | The user is allergic to penicillin | A test showed that the user is not allergic to penicillin
coffee | The user drinks three espressos a day | The user gave up espresso
smoking | The user smokes ten cigarettes a day | The user stopped smoking in June
partner | The user is dating Felix | The user and Felix broke up
married | The user is engaged to Mara | The user married Mara on 2026-06-20
dog | The user has a dog named Pepper | The user's dog Pepper died
car | The user drives a blue Skoda | The user sold the Skoda and bought a Volvo
phone | The user has a Pixel 7 | The user replaced the Pixel 7 with an iPhone 16
laptop | The user's laptop is a ThinkPad | The user switched from the ThinkPad to a MacBook
number | The user's phone number ends in 4471 | The user's new phone number ends in 9023
email | The user's e-mail address is at oldmail.example | The user's e-mail address is at newmail.example now
gym | The user goes to the gym on Tuesdays | The user goes to the gym on Thursdays now
run | The user runs 5 km every morning | The user runs 10 km every morning now
weight | The user weighs 81 kilos | The user weighs 77 kilos
marathon | The user's marathon best is 4:12 | The user ran a new marathon best of 3:58
injury | The user has a sprained ankle | The user's ankle has healed
medicine | The user takes 20 mg of Lipitor | The user takes 40 mg of Lipitor now
doctor | The user's dentist is Dr. Hale | The user's dentist is Dr. Ruiz now
glasses | The user wears glasses | The user had laser surgery and no longer wears glasses
hair | The user has long hair | The user cut the hair short
language | The user is learning Korean on Duolingo | The user gave up learning Korean
instrument | The user plays the cello in an orchestra | The user stopped playing the cello
band | The user sings in the choir Cantabile | The user left the choir Cantabile
book | The user is reading Middlemarch | The user finished Middlemarch
series | The user is watching Severance, season one | The user is on season two of Severance
color | The user's favourite colour is orange | The user's favourite colour is teal these days
team | The user supports Arsenal | The user does not support Arsenal any more
hobby | The user bakes sourdough every Sunday | The user no longer bakes sourdough
plan japan | The user plans a trip to Japan in October | The user's trip to Japan is postponed to April
plan house | The user wants to buy a house in Kells | The user bought a house in Kells
exam | The user has an exam in statistics on 12 May | The exam in statistics is on 19 May
meeting | The user has a meeting with Sara at 3 pm | The meeting with Sara is at 4 pm
wedding | The wedding will be in Siena | The wedding will be in Lucca
party | The user's birthday party is on Saturday | The user's birthday party is cancelled
flight | The user's flight leaves at 7:05 | The user's flight leaves at 9:40
hotel | The user booked the hotel Astoria in Vienna | The user cancelled the hotel Astoria and booked a hostel
deadline | The project deadline is 15 October | The project deadline is 1 November
budget | The budget for the kitchen is 8,000 euros | The budget for the kitchen was raised to 9,500 euros
database | The project uses MySQL | The project switched from MySQL to Postgres
framework | The user's app is written in Flask | The user's app was rewritten in Django
version | The server runs Ubuntu 22.04 | The server was upgraded to Ubuntu 24.04
editor | The user codes in Vim | The user codes in VS Code now and no longer in Vim
language 2 | The assistant should answer in English | The assistant should answer in Spanish from now on
length | The assistant should keep answers short | The assistant should give long answers instead of short ones
name | The user wants to be called Bob | The user wants to be called Robert and not Bob
reminder | The assistant should remind the user at 8:00 | The assistant should remind the user at 9:00
study | The user studies chemistry in Graz | The user dropped chemistry and studies law
degree | The user is writing a thesis on bees | The user handed in the thesis on bees
school | The user's son goes to kindergarten | The user's son starts school and left kindergarten
son age | The user's son is five years old | The user's son turned six
child | The user's sister is pregnant | The user's sister had a baby girl
friend | The user's best friend is Lou | The user and Lou are no longer friends
neighbor | The user's neighbour is Mr. Ott | Mr. Ott moved away and the user's neighbour is a student
roommate | The user shares a flat with Kim | Kim moved out and the user lives alone
rent | The rent is 720 euros | The rent went up to 790 euros
insurance | The user is insured with Helvetia | The user changed from Helvetia to Allianz
bank | The user banks with Monzo | The user closed the account with Monzo
debt | The user owes Tom 50 euros | The user paid Tom back
garden | The user grows tomatoes on the balcony | The tomatoes on the user's balcony died
package | The user's parcel is on its way | The user's parcel was delivered
keys | The spare key is under the mat | The spare key is with the neighbour and not under the mat
wifi | The wifi is called Seagull | The wifi is called Albatross now
subscription | The user has a Netflix subscription | The user cancelled Netflix
church | The user volunteers at a shelter on Fridays | The user stopped volunteering at the shelter
mood | The user is stressed about the audit | The audit is over and the user is relaxed
sleep | The user goes to bed at midnight | The user goes to bed at ten now
breakfast | The user eats porridge for breakfast | The user eats eggs for breakfast instead of porridge
tea | The user prefers green tea | The user prefers black tea over green tea now
seat | The user prefers aisle seats | The user prefers window seats and not aisle seats
goal | The user's goal is to read 30 books this year | The user lowered the goal to 20 books this year
club | The user is captain of the chess club | Iris is captain of the chess club now
shop | The user's shop opens at nine | The user's shop opens at ten
staff | The user's company has 12 employees | The user's company has 15 employees
mother | The user's mother is in hospital | The user's mother is home from hospital
father | The user's father works at the port | The user's father retired from the port
brother | The user's brother is single | The user's brother is dating Zoe
visa | The user's visa expires in May | The user's visa was extended until December
passport | The user lost the passport | The user found the passport again
bike | The user's bike is broken | The user's bike is repaired
"""

# Changes of which the newer fact does not name what was: here words alone do not suffice.
UNNAMED = """\
Rosa rents a studio above the bakery in Tartu | Rosa bought a house outside Tartu and gave notice for the studio
Emil's base is Zurich | Emil transferred to the Geneva branch and settled there
Hanne is staying with her aunt until she finds a place | Hanne found a place of her own in Vejle
Kofi teaches maths at Ridge High | Kofi is the deputy head of Ridge High now and no longer teaches
Lucia is an intern at the museum | Lucia got a permanent post at the museum
Marek reports on sports for the Courier | Marek covers politics for the Courier now
Noa is on parental leave | Noa is back at work since Monday
Olga is looking for a job | Olga found a job at a print shop
Pavel's shift starts at six | Pavel's shift starts at two since the rota changed
Quinn is on the night shift | Quinn was put on the day shift
Rui owns a food truck | Rui closed the food truck and opened a diner
Sanne keeps kosher | Sanne does not keep kosher any longer
Timo can't eat gluten | Timo can eat gluten again after the new test
Uma takes ibuprofen for her back | Uma's doctor replaced ibuprofen with naproxen
Vito has a cast on his left arm | Vito's cast came off on 2026-03-02
Wanda uses a cane | Wanda walks without the cane again
Xavi is in remission | Xavi's cancer has come back
Yara has braces | Yara got the braces removed
Zeno sleeps badly | Zeno sleeps through the night since he bought a new mattress
Ada is seeing Bruno | Ada and Bruno are married now
Bea is single | Bea has a boyfriend, Tomas
Cleo and Dirk are engaged | Cleo called off the engagement to Dirk
Elif's roommate is Farah | Elif's roommate is Gizem since Farah left for Ankara
Farid has one child | Farid's second child was born in May, so Farid has two children
Greta's cat is missing | Greta's cat turned up at the neighbours'
Hugo walks his own dog before work | Hugo hired a dog walker for the mornings
Ivy drives to work | Ivy takes the tram to work
Jonas rides a Vespa | Jonas's Vespa was stolen
Kira reads on a Kindle | Kira went back to paper books
Leo uses Gmail | Leo migrated to Proton Mail
Mina's password manager is KeyVault | Mina dropped KeyVault for Bitsafe
Nils streams on Twitch every evening | Nils moved the stream to YouTube
Olek's blog runs on WordPress | Olek rebuilt the blog with Hugo
Pia's site is down | Pia's site is up again
Rolf's CI takes 40 minutes | Rolf's CI takes 12 minutes after the cache was added
Siri's sprint review is on Wednesdays | Siri's sprint review was shifted to Thursdays
Tara's flight to Lima is at noon | Tara was rebooked to the evening flight to Lima
Udo's train is on platform 4 | Udo's train leaves from platform 9
Vera's reservation is for two | Vera changed the reservation to four people
Wim's concert is in the town hall | Wim's concert has been moved to the church because of the rain
Xenia's lease ends in June | Xenia's lease runs until December
Yusuf pays 30 euros for his phone plan | Yusuf's phone plan costs 22 euros now
Zita's savings goal is 5,000 euros | Zita raised her savings goal to 8,000 euros
Arne is learning to sail | Arne got his sailing licence
Bodil is training for a triathlon | Bodil gave up on the triathlon because of her knee
Carla thinks the Alps are overrated | Carla changed her mind and loves the Alps
Dario is afraid of flying | Dario is not afraid of flying any more
Edda's favourite author is Murakami | Edda's favourite author is Ishiguro now
Finn supports the ban on cars downtown | Finn is against the ban on cars downtown now
Gitte prefers to be called by phone | Gitte wants to be texted, not called
Henrik is the treasurer of the club | The club's treasurer is Inga now
Isa's thesis advisor is Prof. Lang | Isa switched advisors and works with Prof. Weber
Jorge wants weekly summaries | Jorge wants daily summaries instead of weekly ones
Klara's allowance for the assistant is 20 euros | Klara's allowance for the assistant is 35 euros from now on
Lars plays in goal | Lars plays as a striker now
Mette's team is in second place | Mette's team has dropped to fifth place
Nadir's visa application is pending | Nadir's visa was approved
Orla is waiting for her exam results | Orla passed the exam
Piet's parcel is held at customs | Piet received the parcel
Runa's basement is flooded | Runa's basement is dry again
"""

ADDITIONS = """\
The user has a dog named Pepper | The user has a dog named Salt, too
The user likes tea | The user likes coffee
The user speaks French | The user speaks Dutch
The user has been to Oslo | The user has been to Bergen
The user visited Rome in May 2025 | The user visited Rome in May 2026
The user has a brother, Tim | The user has a brother, Jon
The user read Emma | The user read Persuasion
The user works as a nurse at St. Anne's | The user also works at a pharmacy on Sundays
The user lives in Dublin | The user plans to move to Cork
The user lives in Dublin | The user is thinking about moving to Cork
The user lives in Dublin | The user spends the summer in Cork
The user lives in Dublin | The user lived in Cork as a child
The user lives in Dublin | The user stays with a friend in Cork for two weeks
The user lives in Dublin | The user's parents moved to Cork
The user lives in Dublin | The user does not live in Cork
The user works as a nurse at St. Anne's | The user applied for a job at a school
The user works as a nurse at St. Anne's | The user almost quit
The user is vegetarian | The user's husband eats meat
The user is vegetarian | The user cooked a steak for a guest
The user is dating Felix | The user had dinner with Mara
The user is married to Mara | The user's sister married Felix
The user drives a blue Skoda | The user rented a Volvo in Spain
The user plays the cello | The user took up the violin
The user's favourite colour is orange | The user's favourite flower is the tulip
The user's marathon best is 4:12 | The user's half marathon best is 1:58
The budget for the kitchen is 8,000 euros | The budget for the bathroom is 5,000 euros
The project deadline is 15 October | The paper deadline is 1 November
The user has a meeting with Sara at 3 pm | The user has a meeting with Omar at 4 pm
The user's dentist is Dr. Hale | The user's eye doctor is Dr. Ruiz
The user's sister Nora lives in Galway | The user's sister Ada moved to Leeds
The user's sister Nora lives in Galway | The user's friend Nora moved to Leeds
The user's mother is in hospital | The user's father is home from hospital
The user is allergic to penicillin | The user is not allergic to nuts
The user drinks three espressos a day | The user did not drink espresso in the week of 2026-05-04
The user smokes ten cigarettes a day | The user wants to stop smoking
The user supports Arsenal | The user's brother does not support Arsenal any more
The assistant should answer in English | The assistant should answer short
The user is learning Korean | The user started learning Thai
The user caught a trout in May | The user caught a trout in June
The user ran the Lund half marathon in 2025 | The user ran the Lund half marathon in 2026
"""


def changes() -> list[tuple[str, str, str]]:
    """(the matter, as it was, as it has become)."""
    found = []
    for line in CHANGES.splitlines():
        matter, old, new = line.split(" | ")
        found.append((matter, old, new))
    return found


def unnamed() -> list[tuple[str, str, str]]:
    """(whose it is, as it was, as it has become)."""
    pairs = [line.split(" | ") for line in UNNAMED.splitlines()]
    return [(old.split()[0].removesuffix("'s"), old, new) for old, new in pairs]


def additions() -> list[tuple[str, str]]:
    """(what is known, what comes to it and replaces nothing)."""
    return [
        (old, new)
        for old, _, new in (x.partition(" | ") for x in ADDITIONS.splitlines())
    ]
