"""How questions, suppositions, reports and other people sound in other languages than English: patterns for text in one
spelling (`wording.plain`). Pure.

Whoever is not understood says nothing of themselves: a word of these is enough.
"""

import re

ASKED = re.compile(
    r"^(?:kya|kahan|kaha|kab|kaun|kaise|kyun|kyon|kitn[aei]|konsa|kaunsa|wo|wer|wann|wie|warum|wohin|welche[rsnm]?|kann|können"
    r"|könnte|gibt es|où|quand|comment|pourquoi|combien|est-ce|quel(?:le)?s?|dónde|cuándo|cómo|quién|cuánto|por qué"
    r"|qué|dove|quando|quanto|perché)\b|^¿|\bkya\b|\b(?:hai|hain) na$"
    r"|क्या|कहाँ|कहां|कौन|कैसे|क्यों|कितन[ाेी]|किधर"
    r"|எங்கே|எப்போது|யார்|எப்படி|என்ன|எவ்வளவு|ஏன்|முடியுமா|இருக்கா|உள்ளதா"
    r"|ఎక్కడ|ఎప్పుడు|ఎవరు|ఎలా|ఎందుకు|ಎಲ್ಲಿ|ಯಾವಾಗ|ಯಾರು|ಹೇಗೆ|ಏಕೆ|എവിടെ|എപ്പോൾ|കোথায়|কখন"
    r"|(?:^|\s)(?:هل|أين|متى|كيف|لماذا)\s|[吗吗嗎]|ですか|ますか"
)
SUPPOSED = re.compile(
    r"\b(?:agar|yadi|maan lo|man lo|maano|shayad|wenn|falls|angenommen|supposons|supongamos|imagina)\b|^si\s(?!units)"
    r"|अगर|यदि|मान लो|मान लीजिए|शायद|ஒருவேளை|என்றால்|(?:^|\s)(?:إذا|لو)\s|如果|もし"
)
REPORTED = re.compile(
    r"\b(?!(?:maine|main)\b)\w+ ne (?:\w+ )?(?:kaha|bola|bataya|likha|pucha|poocha)\b"
    r"|\b(?:kehta|kehti|kehte|bolta|bolti|bolte|kehna|bol rah[aie]|keh rah[aie])\b|\bke (?:mutabik|hisaab se|anusaar)\b"
    r"|\b(?:dice que|dijo|dicen que|según|dit que|dit qu'|a dit|selon|d'après|sagt|sagte|sagen|laut|meint"
    r"|dice che|secondo)\b"
    r"|(?<!मैं)(?<!मै)ने (?:\S+ )?(?:कहा|बोला|बताया|लिखा|पूछा)|कहत[ाेी] ह|बोलत[ाेी] ह|के अनुसार|के मुताबिक"
    r"|சொன்னார்|சொன்னான்|சொன்னாள்|சொன்னார்கள்|சொல்கிற|என்கிறா|கூறினா|(?:^|\s)(?:قال|قالت|يقول|تقول|حسب)\s"
)
_KIN = (
    r"(?:wife|husband|partner|son|daughter|child|mother|father|mom|mum|mummy|dad|papa|brother|sister|friend|boss|uncle"
    r"|aunt\w*|cousin|client|customer|landlord|neighbou?r|bhai|behen|behan|bahan|biwi|patni|pati|beta|beti|bete|maa"
    r"|mata|pita|pitaji|dost|saheli|padosi|chacha|mama|mausi|didi|bhaiya|sasur|saas|dada|dadi|nana|nani|maalik|malik)"
)
OTHERS = re.compile(
    rf"\b(?:mer[aie]|hamar[aie]|apn[aie]|us?k[aie]|unk[aie]) (?:\w+ )?{_KIN}\b|^(?:wo|woh|vo|voh|unki|uski|uska|unka)\b"
    r"|\ben (?:manaivi|kanavar|annan|thambi|akka|thangai|amma|appa|magan|magal|nanban)\b"
    r"|\b(?:mi|mis|nuestr[oa]) (?:esposa|esposo|mujer|marido|herman[oa]s?|hij[oa]s?|madre|padre|padres|amig[oa]s?"
    r"|jef[ea]|vecin[oa]|prim[oa]|novi[oa]|tío|tía)\b|\b(?:mon|ma|mes|notre) (?:femme|mari|frère|sœur|soeur|fils|fille"
    r"|mère|père|parents|amie?s?|patron(?:ne)?|voisine?|cousine?|copine?|oncle|tante)\b"
    r"|\b(?:meine?[mnrs]?|unsere?[mnrs]?) (?:frau|mann|bruder|schwester|sohn|tochter|kind|mutter|vater|eltern"
    r"|freund(?:in)?|chef(?:in)?|nachbar(?:in)?|onkel|tante|oma|opa)\b"
    r"|\b(?:mio|mia|meu|minha) (?:moglie|marito|fratello|sorella|figli[oa]|madre|padre|amic[oa]|esposa|marido|irmão"
    r"|irmã|filh[oa]|mãe|pai|amig[oa]|chefe|capo)\b"
    r"|(?:पत्नी|बीवी|पति|भाई|बहन|बेटा|बेटी|बेटे|माँ|मां|माता|पिता|पापा|मम्मी|दोस्त|मित्र|सहेली|चाचा|चाची|मामा|मौसी|दादा"
    r"|दादी|नाना|नानी|पड़ोसी|बॉस|मालिक|ससुर|सास|दीदी|भैया)(?=\s|$)|(?:^|\s)(?:वह|वो|वे|उसक[ाेी]|उनक[ाेी]|उन्हें|उसे)\s"
    r"|மனைவி|கணவர்|கணவன்|அண்ணன்|தம்பி|அக்கா|தங்கை|அம்மா|அப்பா|மகன்|மகள்|நண்பர்|நண்பன்|தோழி|மாமா|சித்தி|(?:^|\s)(?:அவர்|அவன்|அவள்)"
    r"|భార్య|భర్త|అన్న|తమ్ముడు|అక్క|చెల్లి|అమ్మ|నాన్న|స్నేహితు|ಹೆಂಡತಿ|ಗಂಡ|ಅಣ್ಣ|ತಮ್ಮ|ಅಕ್ಕ|ತಂಗಿ|ಅಮ್ಮ|ಅಪ್ಪ|ಸ್ನೇಹಿತ"
    r"|ഭാര്യ|ഭർത്താവ്|ചേട്ടൻ|അനിയൻ|ചേച്ചി|അമ്മ|അച്ഛൻ|സുഹൃത്ത്|স্ত্রী|স্বামী|ভাই|বোন|মা |বাবা|বন্ধু|बायको|नवरा|भाऊ|बहीण|आई |वडील"
    r"|(?:^|\s)(?:أخي|أختي|زوجتي|زوجي|ابني|ابنتي|أمي|أبي|والدي|والدتي|صديقي|صديقتي|مديري|جاري|عمي|خالي|هو|هي|هم)\s"
    r"|妻|丈夫|哥哥|弟弟|姐姐|妹妹|朋友|妈妈|爸爸|夫は|兄|弟|姉|妹|友達|友人|母|父"
)
_THIRD = re.compile(r"\b\w+t[aie] (?:hai|hain|h)\b|त[ाेी] (?:है|हैं)")
"""Who does something usually; the speaker's own verbs end otherwise, or the sentence names them."""

_SPEAKER = re.compile(
    r"\b(?:mujhe|mujhko|mer[aie]|hum|hame[in]*|main|mai|hamar[aie])\b|मैं|मै |मुझे|मुझको|मेर[ाेी]|हम|हमें|हमार[ाेी]"
)
_SPEAKS = re.compile(r"\b(?:main|mai|mein|hum)\b.*\b(?:hoon|hun|hu|hain|tha|thi)\b|(?:मैं|मै ).*ह(?:ूँ|ूं)|हम .*हैं")


def is_of_others(clause: str) -> bool:
    """Whether a clause speaks of somebody beside the speaker, and is not the speaker's own first of all: I live in
    Delhi with my wife, in Hindi, has the speaker's own verb."""
    if OTHERS.search(clause):
        return _SPEAKS.search(clause) is None
    return _THIRD.search(clause) is not None and _SPEAKER.search(clause) is None
