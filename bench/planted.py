"""Rows in many scripts, each with a word by which it has to be found."""
# ruff: noqa: RUF001  the letters of other scripts are meant

import random
import unicodedata
from dataclasses import dataclass

# By script: sentences to put a word into, questions that hold one, and the words.
_SCRIPTS: dict[str, tuple[str, str, str]] = {
    "chinese": (
        "我上周在市场旁边看见了{}，真的很高兴。|关于{}的事情我们以后再说",
        "{}在哪里？|你知道{}吗",
        "图书馆 钢琴 白鹭 苹果 咖啡 自行车 火锅 雨伞 绿茶",
    ),
    "japanese": (
        "きのう駅の近くで{}を見つけました。|{}についてはまた話しましょう",
        "{}はどこですか？|{}の話",
        "図書館 ピアノ カメラ 自転車 とうふ コーヒー 紫陽花 猫",
    ),
    "korean": (
        "지난주에 시장에서 {}를 보았어요.|우리는 {} 이야기를 했습니다",
        "{}는 어디에 있어요?|{}",
        "도서관 피아노 자전거 사과 커피 우산 고양이 김치",
    ),
    "thai": (
        "เมื่อวานฉันเห็น{}ที่ตลาด|เราคุยกันเรื่อง{}ทั้งคืน",
        "{}อยู่ที่ไหน|{}",
        "ห้องสมุด เปียโน จักรยาน แอปเปิล กาแฟ ร่ม แมว ต้มยำ",
    ),
    "hindi": (
        "कल बाज़ार में मैंने {} देखा।|हमने {} के बारे में बात की",
        "{} कहाँ है?|{}",
        "पुस्तकालय पियानो साइकिल सेब छाता बिल्ली क़लम चाय",
    ),
    "bengali": (
        "গতকাল বাজারে আমি {} দেখেছি।|আমরা {} নিয়ে কথা বলেছি",
        "{} কোথায়?|{}",
        "গ্রন্থাগার পিয়ানো সাইকেল আপেল ছাতা বিড়াল",
    ),
    "tamil": (
        "நேற்று சந்தையில் {} பார்த்தேன்.|நாங்கள் {} பற்றி பேசினோம்",
        "{} எங்கே?|{}",
        "நூலகம் பியானோ மிதிவண்டி ஆப்பிள் குடை பூனை",
    ),
    "arabic": (
        "رأيت أمس {} قرب السوق.|تحدثنا عن {} طوال الليل",
        "أين {}؟|{}",
        "مكتبة بيانو دراجة تفاحة قهوة مظلة قطة كُتُب",
    ),
    "persian": (
        "دیروز کنار بازار {} دیدم.|درباره {} حرف زدیم",
        "{} کجاست؟|{}",
        "کتاب\u200cخانه پیانو دوچرخه چتر گربه می\u200cخواهم",
    ),
    "hebrew": (
        "אתמול ראיתי {} ליד השוק.|דיברנו על {} כל הלילה",
        "איפה {}?|{}",
        "ספרייה פסנתר אופניים תפוח מטרייה חתול שָׁלוֹם",
    ),
    "russian": (
        "вчера у рынка я видел {}.|мы говорили про {} весь вечер",
        "где {}?|{}",
        "библиотека пианино велосипед яблоко зонтик ёжик",
    ),
    "greek": (
        "χθες είδα {} κοντά στην αγορά.|μιλήσαμε για {} όλη τη νύχτα",
        "πού είναι {};|{}",
        "βιβλιοθήκη πιάνο ποδήλατο μήλο ομπρέλα γάτα",
    ),
    "accented": (
        "hier j'ai vu {} près du marché.|nous avons parlé de {} toute la nuit",
        "où est {}?|{}",
        "bibliothèque Núñez Straßenkäse señorita Łódź smørrebrød fjǫrðr İzmir phở čaj",
    ),
    "khmer": ("ខ្ញុំបានឃើញ{}នៅផ្សារ|យើងនិយាយអំពី{}", "{}|{}", "បណ្ណាល័យ ព្យាណូ កង់ ឆ្មា"),
    "lao": ("ຂ້ອຍເຫັນ{}ຢູ່ຕະຫຼາດ|ພວກເຮົາລົມກັນເລື່ອງ{}", "{}|{}", "ຫໍສະໝຸດ ເປຍໂນ ລົດຖີບ ແມວ"),
    "burmese": ("မနေ့က ဈေးမှာ {} တွေ့တယ်|{} အကြောင်းပြောတယ်", "{}|{}", "စာကြည့်တိုက် စန္ဒယား စက်ဘီး ကြောင်"),
    "georgian": ("გუშინ ბაზართან ვნახე {}|ვისაუბრეთ {}", "სად არის {}?|{}", "ბიბლიოთეკა პიანინო ველოსიპედი ქოლგა"),
    "amharic": ("ትናንት ገበያ አጠገብ {} አየሁ|ስለ {} አወራን", "{} የት ነው?|{}", "መጻሕፍት ፒያኖ ብስክሌት ጃንጥላ"),
    "emoji": (
        "my sign is {} these days|we laughed at {} all night",
        "{}|who is {}?",
        "🐝 🦔 👩🏽‍🔬 🇧🇹 ❤️ ☂️ 🫨 🪗 🧑‍🌾 🏴‍☠️",
    ),
    "figures": (
        "the code of the gate is {} now|they wrote {} on the wall",
        "what about {}?|{}",
        "4711 3:47pm v2.19 1,048,576 +32-9-444 AB-1234 ２０４８ ٣٤٥٦ C++ node.js a.b@c.org",
    ),
}  # fmt: skip
SCRIPTS = tuple(_SCRIPTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """A row, the word in it and the script of that."""

    script: str
    word: str
    text: str


def planted() -> list[Planted]:
    """All rows, each word in each sentence of its script."""
    return [
        Planted(script=name, word=word, text=sentence.format(word))
        for name, (sentences, _, words) in _SCRIPTS.items()
        for word in words.split(" ")
        for sentence in sentences.split("|")
    ]


def asked_by(one: Planted, dice: random.Random) -> str:
    """A question that holds the word of a row, in some form that looks the same."""
    forms = _SCRIPTS[one.script][1].split("|")
    word = one.word
    if one.script not in ("emoji", "figures"):
        word = dice.choice(
            (
                word,
                word.upper(),
                *(unicodedata.normalize(f, word) for f in ("NFC", "NFD", "NFKC")),
            )
        )
    return dice.choice((word, *(form.format(word) for form in forms)))
