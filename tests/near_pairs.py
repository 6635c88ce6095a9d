"""Pairs of facts that lie close together, by hand: one fact said twice, or two facts.

A line is "one | other". Those of DIFFERENT stand under what sets them apart; "" if that
has several names.
"""

SAME = """\
Maya lives in Paris | Maya is living in Paris
Maya lives in Paris | maya lives in paris.
Maya has two cats | Maya has 2 cats
Maya has twenty-five cousins | Maya has 25 cousins
I live in Rome | The user lives in Rome
My brother is a pilot | The user's brother is a pilot
User prefers tea over coffee | The user prefers tea to coffee
Maya doesn't like fish | Maya does not like fish
Maya can't swim | Maya cannot swim
Maya moved to Lyon in 2021 | In 2021 Maya moved to Lyon
Maya moved to Lyon in 2021 | Maya moved to Lyon in 2021!
Maya moved to Lyon on 5 March 2024 | Maya moved to Lyon on 2024-03-05
Maya moved to Lyon on March 5th, 2024 | Maya moved to Lyon on 5 March 2024
The meeting is on Friday | The meeting is Friday
The meeting is at 5 pm | The meeting is at 17:00
The train leaves at 9:30 a.m. | The train leaves at 9:30 am
Maya works for Acme | Maya works at Acme
Maya is working at Acme | Maya works at Acme
The dog is called Rex | The dog is named Rex
Maya adopted a dog named Biscuit | Maya adopted a dog called Biscuit
Maya likes tea and coffee | Maya likes coffee and tea
Maya and Tom visited Rome | Tom and Maya visited Rome
Maya has moved to Rome | Maya moved to Rome
Maya no longer eats meat | Maya does not eat meat any more
Maya doesn't eat meat anymore | Maya no longer eats meat
Maya did not go to Rome | Maya didn't go to Rome
Maya was living in Paris | Maya lived in Paris
The laptop costs $1,200 | The laptop costs 1200 dollars
The laptop costs 1,200.00 USD | The laptop costs $1200
Rent is 950 euros a month | Rent is €950 a month
Maya runs 5 km every day | Maya runs five kilometres each day
Maya runs 10k steps | Maya runs 10,000 steps
Sales grew by 5% | Sales grew by 5 percent
The oven is at 200 °C | The oven is at 200 degrees Celsius
Maya really likes hiking | Maya likes hiking
Maya currently lives in Berlin | Maya lives in Berlin
Maya is currently working on a novel | Maya is working on a novel
Maya recently bought a car | Maya bought a car
Maya also speaks Spanish | Maya speaks Spanish
Maya speaks Spanish too | Maya speaks Spanish
Maya still plays the cello | Maya plays the cello
Maya enjoys hiking | Maya likes hiking
Maya has three kids | Maya has three children
Maya's mum is a nurse | Maya's mother is a nurse
Maya's favourite colour is green | Maya's favorite color is green
Maya's dad lives in Oslo | Maya's father lives in Oslo
Maya bought a bike | Maya purchased a bicycle
Maya owns a red car | Maya has a red car
Maya's flat is small | Maya's apartment is small
Maya is on vacation | Maya is on holiday
Maya resides in Madrid | Maya lives in Madrid
Maya loves the movie Alien | Maya loves the film Alien
The shop opens until 8 pm | The shop opens till 8 pm
Maya goes to the gym twice a week | Maya goes to the gym two times a week
"Maya's sister is Anna" | Maya\u2019s sister is Anna
Maya is a vegetarian | Maya is vegetarian
The user is allergic to peanuts | I'm allergic to peanuts
The user has a daughter, Lena | User has a daughter Lena
I've got a daughter | I have got a daughter
The user is planning a trip to Japan | I am planning a trip to Japan
Maya's birthday is 12 May | Maya's birthday is on May 12
Maya was born in 1990 | Maya was born in 1990.
Maya graduated in June 2019 | Maya graduated in Jun 2019
Maya studied physics at MIT | Maya studied physics at MIT (
Maya and her sister run a bakery | Maya & her sister run a bakery
Maya began learning Italian | Maya started learning Italian
Maya won't attend the party | Maya will not attend the party
Maya isn't married | Maya is not married
Maya hasn't finished the book | Maya has not finished the book
The wedding is on the 3rd of May | The wedding is on 3 May
Maya's phone number ends in 42 | Maya's telephone number ends in 42
Maya's cat weighs 4 kilograms | Maya's cat weighs 4 kg
Maya's desk is 120 cm wide | Maya's desk is 120 centimetres wide
Maya sleeps eight hours a night | Maya sleeps 8 hours a night
The assistant recommended the Louvre | Assistant recommended the Louvre
Maya told the user about the concert | Maya told me about the concert
Maya works as a nurse in Graz | Maya is working as a nurse in Graz
The project uses SQLite | Project uses SQLite
The deadline of the project is 15 October | The deadline of the project is October 15th
Tom is Maya's colleague | Tom is Maya's coworker
Maya gave a talk at PyCon in 2023 | In 2023, Maya gave a talk at PyCon
Maya travelled to Peru | Maya traveled to Peru
Maya will start a new job on Monday | Maya will start a new job Monday
Maya had been living in Rome | Maya lived in Rome
Maya's son Leo is six years old | Maya's son Leo is 6 years old
Maya finished third in the race | Maya finished 3rd in the race
Maya has just adopted a kitten | Maya adopted a kitten
Maya's neighbor plays drums | Maya's neighbour plays drums
Caroline plans to adopt a child | Caroline is planning to adopt a child
Melanie painted a sunrise in 2022 | Melanie painted a sunrise in the year 2022
Jon lost his job as a banker on 19 January 2023 | On 19 January 2023 Jon lost his job as a banker
Gina opened an online clothing store | Gina has opened an online clothing store
The user's laptop is a ThinkPad X1 | User's laptop is a ThinkPad X1
The user takes 20 mg of Lipitor daily | The user takes 20mg of Lipitor daily
The user drinks oat milk | User drinks oat milk
Nate won his second tournament in May 2022 | Nate won his 2nd tournament in May 2022
Joanna is allergic to most reptiles | Joanna is allergic to most reptiles.
Andrew rescued a dog named Toby | Andrew rescued a dog called Toby
Audrey has four dogs | Audrey has 4 dogs
Calvin is a musician and lives in Tokyo | Calvin is a musician and is living in Tokyo
Dave opened his car shop on 1 May 2023 | Dave opened his car shop on May 1, 2023
Evan drives a Prius | Evan drives an old Prius
Sam is trying to eat healthier | Sam tries to eat healthier
James adopted a puppy | James recently adopted a puppy
John is running for office | John runs for office
Maria volunteers at a shelter | Maria is volunteering at a shelter
The user wants answers in French | User wants answers in French
The user always wants short answers | The user wants short answers always
Tim is learning to play the violin | Tim is learning the violin
The user's anniversary is on 14 February | The user's anniversary is February 14
The user pays 45 euros for the gym | The user pays €45 for the gym
The user works from home on Mondays | On Mondays the user works from home
The user has a meeting with Sara at 3pm | The user has a meeting with Sara at 15:00
The user moved from London to Paris in March 2026 | In March 2026 the user moved from London to Paris
The user is married to Ben | The user is married to Ben!
The user has been learning Korean since 2020 | The user has been learning Korean since the year 2020
The user's sister Ana lives in Porto | The user's sister, Ana, lives in Porto
The user's favorite band is Radiohead | Radiohead is the user's favorite band
The assistant suggested to visit the Louvre | The assistant suggested visiting the Louvre
The user can speak German and Polish | The user can speak Polish and German
The user hates mushrooms | The user really hates mushrooms
The user has two older brothers | The user has 2 older brothers
The user gets up at 6 am | The user gets up at 6:00
The car has 120,000 km on it | The car has 120000 kilometres on it
The user ordered a blue bike | The user has ordered a blue bike
The user no longer works at Acme | The user doesn't work at Acme anymore
The book club meets every Thursday | The book club meets each Thursday
The user's flight is at 7:05 on 3 June | The user's flight is on 3 June at 7:05
"""

DIFFERENT = {
    "number": """\
Maya has two cats | Maya has three cats
Maya has 2 cats | Maya has 12 cats
v1.2 is in use | v1.3 is in use
Version 2.0.1 is deployed | Version 2.0.10 is deployed
Maya is 34 years old | Maya is 35 years old
The budget is 1,500 | The budget is 15,000
The budget is 1.5 million | The budget is 1.5 billion
The laptop costs $1,200 | The laptop costs $1,250
Sales grew by 5% | Sales grew by 50%
Maya finished third | Maya finished second
Maya finished 3rd | Maya finished 31st
The flat has a balcony | The flat has two balconies
Maya has a dog | Maya has dogs
Room 12 is booked | Room 21 is booked
Flight LH123 leaves early | Flight LH132 leaves early
Maya lives at 5 Elm Street | Maya lives at 15 Elm Street
The temperature is 5 degrees | The temperature is -5 degrees
Maya runs twice a week | Maya runs once a week
Maya sleeps seven hours | Maya sleeps eight hours
The score was 2-1 | The score was 1-2
Chapter four is done | Chapter five is done
Maya needs a dozen eggs | Maya needs ten eggs
The meeting takes 30 minutes | The meeting takes 45 minutes
Maya read 10 of 12 books | Maya read 12 of 12 books""",
    "unit": """\
Maya ran 5 km | Maya ran 5 miles
Maya weighs 60 kg | Maya weighs 60 pounds
The trip takes 3 hours | The trip takes 3 days
Rent is 950 euros | Rent is 950 dollars
Rent is $950 | Rent is £950
The oven is at 200 °C | The oven is at 200 °F
The file has 5 MB | The file has 5 GB
The pool is 25 m long | The pool is 25 feet long
Maya drinks 2 litres | Maya drinks 2 gallons
The trial lasts two weeks | The trial lasts two months
Sales grew by 5% | Sales grew by 5 dollars""",
    "date": """\
Project deadline is October 15th | Project deadline is October 16th
The wedding is on 3 May | The wedding is on 3 June
Maya moved to Lyon in 2021 | Maya moved to Lyon in 2022
Maya moved to Lyon on 2024-03-05 | Maya moved to Lyon on 2024-05-03
The meeting is on Friday | The meeting is on Thursday
Yoga is on Mondays | Yoga is on Tuesdays
Yoga is on Monday | Yoga is on Mondays
Maya was born in May 1990 | Maya was born in May 1991
Maya has lived there since 2015 | Maya has lived there until 2015
Maya worked there before 2015 | Maya worked there after 2015
The shop is closed from 3 to 5 March | The shop is closed from 3 to 6 March
Maya graduated in June | Maya graduated in July
The trip is in March 2024 | The trip is in March
Maya was in Lyon in 2019 and Paris in 2021 | Maya was in Lyon in 2021 and Paris in 2019
The visa ends on 1 January 2026 | The visa ends on 1 January 2027""",
    "time": """\
The meeting is at 5 pm | The meeting is at 5 am
The meeting is at 5 pm | The meeting is at 6 pm
The train leaves at 9:30 | The train leaves at 9:50
The shop opens at noon | The shop opens at midnight
The alarm is at 7:15 am | The alarm is at 7:45 am""",
    "name": """\
Maya lives in Paris | Maya lives in Rome
Maya lives in Paris | Anna lives in Paris
Maya's sister is Anna | Maya's sister is Hannah
Maya works at Google | Maya works at Microsoft
I work at Acme | I just joined Bolt
The dog is named Rex | The dog is named Max
Maya flew with Lufthansa | Maya flew with Ryanair
Maya plays Zelda | Maya plays Tetris
Maya reads Tolstoy | Maya reads Dostoevsky
Maya uses Postgres | Maya uses SQLite
We chose SQLite over Postgres for simplicity | We chose fastembed over OpenAI for privacy
Maya lives in Paris, Texas | Maya lives in Paris, France
Maya lives in Frankfurt am Main | Maya lives in Frankfurt an der Oder
Maya met Tom Miller | Maya met Tom Mueller
Maya speaks Spanish | Maya speaks Portuguese
Maya drives a Golf | Maya drives a Polo
Maya moved from Lyon to Rome | Maya moved from Lyon to Nice
Maya eats at Luigi's | Maya eats at Mario's
Maya visited New York | Maya visited York
Maya supports Manchester City | Maya supports Manchester United""",
    "negation": """\
Maya likes fish | Maya does not like fish
Maya eats meat | Maya no longer eats meat
Maya is married | Maya isn't married
Maya can swim | Maya can't swim
Maya has been to Japan | Maya has never been to Japan
Maya smokes | Maya stopped smoking
Maya works at Acme | Maya quit work at Acme
Maya travels with Tom | Maya travels without Tom
Maya is allergic to walnuts | Maya is NOT allergic to walnuts
Maya has siblings | Maya has no siblings
Maya knows everybody there | Maya knows nobody there
Maya will attend | Maya won't attend
Maya did finish the book | Maya did not finish the book
Maya has finished the book | Maya hasn't finished the book
Neither Maya nor Tom came | Maya and Tom came
Maya hardly drinks coffee | Maya drinks coffee
Maya refuses to fly | Maya wants to fly
Maya failed the exam | Maya passed the exam
Maya was not in Rome | Maya was in Rome
The user does not want reminders | The user wants reminders""",
    "quantifier": """\
Maya likes all dogs | Maya likes some dogs
Maya always walks to work | Maya sometimes walks to work
Maya often calls her mother | Maya rarely calls her mother
Every guest was vegan | Most guests were vegan
Maya ate half the cake | Maya ate the whole cake
Maya only drinks tea | Maya drinks tea
Both sons are doctors | One son is a doctor
Maya has many friends there | Maya has few friends there
Maya pays monthly | Maya pays weekly
Maya earns more than Tom | Maya earns less than Tom""",
    "opposite": """\
Maya likes cilantro | Maya hates cilantro
Maya likes jazz | Maya dislikes jazz
The price increased | The price decreased
The office is on the left | The office is on the right
Maya's mother is a nurse | Maya's father is a nurse
Maya's sister lives in Oslo | Maya's brother lives in Oslo
Maya bought a house | Maya sold a house
The shop is open | The shop is closed
Maya's proposal was accepted | Maya's proposal was rejected
Maya is single | Maya is married
Maya works full-time | Maya works part-time
Maya prefers mornings | Maya prefers evenings
Maya joined the choir | Maya left the choir
Maya lent Tom 50 euros | Maya borrowed Tom 50 euros
The flight arrives in Rome | The flight departs in Rome
Dark mode is enabled | Dark mode is disabled
Maya gained weight | Maya lost weight
Maya is taller than Tom | Maya is shorter than Tom
Maya's landlord is friendly | Maya's tenant is friendly
The meeting was cancelled | The meeting was confirmed
Maya remembers the code | Maya forgot the code
The test was good | The test was bad""",
    "subject": """\
The user lives in Rome | The assistant lives in Rome
My brother is a pilot | My sister is a pilot
I live in Rome | Maya lives in Rome
He lives in Rome | She lives in Rome
Maya's boss is from Peru | Maya's friend is from Peru
Maya's dog is ill | Maya's cat is ill
The user's mother likes jazz | The user likes jazz
Maya's son likes chess | Maya's daughter likes chess
We live in Rome | They live in Rome
Her car is red | His car is red
Maya's aunt is 60 | Maya's uncle is 60
Tom told Maya about the job | Tom's father told Maya about the job""",
    "tense": """\
Maya lives in Paris | Maya lived in Paris
Maya is a teacher | Maya was a teacher
Maya works at Acme | Maya worked at Acme
Maya has a dog | Maya had a dog
Maya is learning Greek | Maya was learning Greek
Maya plays the cello | Maya played the cello
Maya plays tennis | Maya used to play tennis""",
    "modality": """\
Maya will move to Oslo | Maya moved to Oslo
Maya may move to Oslo | Maya will move to Oslo
Maya plans to buy a car | Maya bought a car
Maya wants to visit Japan | Maya visited Japan
Maya might be pregnant | Maya is pregnant
Maya should take vitamins | Maya takes vitamins
Maya would like Rome | Maya likes Rome
If Maya moves, she sells the car | Maya moves and sells the car
Maya considers Obsidian | Maya uses Obsidian
Maybe Maya lives in Oslo | Maya lives in Oslo""",
    "direction": """\
Maya flew to Rome | Maya flew from Rome
Maya called Tom before lunch | Maya called Tom after lunch
The cafe is above the bank | The cafe is below the bank
Maya lives near Paris | Maya lives in Paris
Maya is for the plan | Maya is against the plan
Maya works with Google | Maya works at Google
The key is on the box | The key is under the box
Maya sat behind Tom | Maya sat beside Tom""",
    "order": """\
Maya gave Tom a book | Tom gave Maya a book
Maya moved from Lyon to Paris | Maya moved from Paris to Lyon
Maya prefers tea over coffee | Maya prefers coffee over tea
The dog chased the cat | The cat chased the dog
Maya likes Tom and hates Ann | Maya hates Tom and likes Ann
Maya is Tom's teacher | Tom is Maya's teacher
Tom is older than Maya | Maya is older than Tom
Maya's mother calls Tom | Tom's mother calls Maya
Maya loves Bo and Cy hates Di | Maya loves Cy and Bo hates Di
Maya switched from Vim to Emacs | Maya switched from Emacs to Vim
Maya owes Tom 20 euros | Tom owes Maya 20 euros
Maya left Rome for Oslo | Maya left Oslo for Rome""",
    "words": """\
Maya has a doctor | Maya is a doctor
Maya loves hiking | Maya likes hiking
Maya likes the car | Maya likes the care
Maya is hoping | Maya is hopping
Maya likes red wine | Maya likes white wine
Maya studies law | Maya studies medicine
Maya's favourite colour is green | Maya's favourite colour is blue
Maya plays the cello | Maya plays the violin
Maya is a nurse | Maya is a teacher
Maya lives in a house | Maya lives in a houseboat
Maya has asthma | Maya has diabetes
Maya works at a bank | Maya works at a bakery
The wifi is slow | The laptop is slow
Maya likes C | Maya likes C++
Maya likes 👍 | Maya likes 👎
Maya lives in Paris | Maya lives in Paris with Tom
Maya is vegetarian | Maya is vegan
Maya takes the bus | Maya takes the train""",
    "": """\
Caroline plans to adopt a child | Caroline plans to adopt a dog
Caroline plans to adopt a child | Caroline adopted a child
Jon lost his job as a banker | Jon found his job as a banker
The user takes 20 mg of Lipitor | The user takes 40 mg of Lipitor
The user takes Lipitor in the morning | The user takes Lipitor in the evening
The user's laptop is a ThinkPad X1 | The user's laptop is a ThinkPad T1
Audrey has four dogs | Audrey has four cats
Andrew rescued a dog named Toby | Andrew rescued a dog named Buddy
Gina opened a store | Gina closed a store
Nate won his second tournament | Nate won his third tournament
Nate won his second tournament | Nate lost his second tournament
The user can speak German | The user cannot speak German
The user can speak German | The user can read German
John is running for mayor | John is running from the mayor
Maria volunteers at a shelter | Maria volunteered at a shelter
The user is 5 feet tall | The user is 5.5 feet tall
The user lives on the 3rd floor | The user lives on the 4th floor
The user lives at 12b Elm Road | The user lives at 12a Elm Road
The user is waiting for Ana's call | The user is waiting for Ana
Ana's mother met Ben | Ana met Ben's mother
Ana told Ben that Cy left | Ben told Ana that Cy left
The user bought stock at 100 and sold at 200 | The user bought stock at 200 and sold at 100
The user wants the window open | The user wants the window closed
The meeting moved from Monday to Friday | The meeting moved from Friday to Monday
The user likes tea but not coffee | The user likes coffee but not tea
The user trusts Ana more than Ben | The user trusts Ben more than Ana
The user has no allergies | The user has allergies
The user's blood type is A+ | The user's blood type is A-
The user's blood type is A | The user's blood type is B
The user codes in C# | The user codes in C
The user uses Python 3.11 | The user uses Python 3.12
The user uses port 8080 | The user uses port 8081
The server is at 10.0.0.5 | The server is at 10.0.0.6
The user's email is a@x.com | The user's email is a@y.com
The user is a morning person | The user is a night person
The user was born on 3/4/1990 | The user was born on 4/3/1990
The user invited everyone but Tom | The user invited everyone and Tom
The user lives with his parents | The user lives without his parents
The user agreed to the plan | The user disagreed with the plan
The user's son is under 5 | The user's son is over 5
The user got a raise | The user gave a raise
The user forgot Ana's birthday | The user remembered Ana's birthday
The user is on page 30 | The user is on page 130
The user will fly on 3 June | The user flew on 3 June
The user hired Ana | The user fired Ana
The user likes it hot | The user likes it cold
The user wakes at 6 | The user wakes at 7
Tom, not Ann, got the job | Ann, not Tom, got the job
The user has one sister and two brothers | The user has two sisters and one brother
The user may eat nuts | The user must not eat nuts
The user thinks Tom lies | Tom thinks the user lies
The user saw the man with the dog | The user saw the dog with the man
The user owns 3 of the 5 shops | The user owns 5 of the 3 shops
The user works at night | The user works at Knight
The user met Dr. Lee | The user met Dr. Li
The user read it once | The user once read it
The user has a cat and a dog | The user has a cat or a dog
My manager is Kim | My manager is Tim
The user's rent rose by 50 to 900 | The user's rent rose by 900 to 50
The user is from Georgia the country | The user is from Georgia the state""",
    "question": """\
Does Maya live in Paris? | Maya lives in Paris
Maya lives in Paris? | Maya lives in Paris""",
}


def _pairs(lines: str) -> list[tuple[str, str]]:
    found = []
    for line in lines.splitlines():
        one, _, other = line.partition(" | ")
        found.append((one.strip(), other.strip()))
    return found


def same() -> list[tuple[str, str]]:
    """Pairs that are one fact."""
    return _pairs(SAME)


def different() -> list[tuple[str, str, str]]:
    """Pairs that are two facts, each with what sets them apart."""
    return [
        (why, one, other)
        for why, lines in DIFFERENT.items()
        for one, other in _pairs(lines)
    ]
