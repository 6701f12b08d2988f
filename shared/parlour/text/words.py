"""Words of a text in any script, and the lists of words that other rules share: months and weekdays. Pure."""


def word_list(text: str) -> frozenset[str]:
    """Return the words of a list that is written with spaces between them."""
    return frozenset(text.split())


#: The twelve months by language, each with its short forms; casefolded. Forms that are also everyday words are left
#: out: Spanish "mar" and "ago" (5 days ago).
MONTHS = {
    "en": (
        "january jan",
        "february feb",
        "march mar",
        "april apr",
        "may",
        "june jun",
        "july jul",
        "august aug",
        "september sept sep",
        "october oct",
        "november nov",
        "december dec",
    ),
    "de": (
        "januar jänner",
        "februar",
        "märz",
        "april",
        "mai",
        "juni",
        "juli",
        "august",
        "september",
        "oktober okt",
        "november",
        "dezember dez",
    ),
    "es": (
        "enero ene",
        "febrero",
        "marzo",
        "abril abr",
        "mayo",
        "junio",
        "julio",
        "agosto",
        "septiembre setiembre",
        "octubre",
        "noviembre",
        "diciembre dic",
    ),
    "hi": (
        "जनवरी",
        "फ़रवरी फरवरी",
        "मार्च",
        "अप्रैल",
        "मई",
        "जून",
        "जुलाई",
        "अगस्त",
        "सितंबर सितम्बर",
        "अक्टूबर अक्तूबर",
        "नवंबर नवम्बर",
        "दिसंबर दिसम्बर",
    ),
    "ta": (
        "ஜனவரி",
        "பிப்ரவரி",
        "மார்ச்",
        "ஏப்ரல்",
        "மே",
        "ஜூன்",
        "ஜூலை",
        "ஆகஸ்ட்",
        "செப்டம்பர்",
        "அக்டோபர்",
        "நவம்பர்",
        "டிசம்பர்",
    ),
    "kn": (
        "ಜನವರಿ",
        "ಫೆಬ್ರವರಿ",
        "ಮಾರ್ಚ್",
        "ಏಪ್ರಿಲ್",
        "ಮೇ",
        "ಜೂನ್",
        "ಜುಲೈ",
        "ಆಗಸ್ಟ್",
        "ಸೆಪ್ಟೆಂಬರ್",
        "ಅಕ್ಟೋಬರ್",
        "ನವೆಂಬರ್",
        "ಡಿಸೆಂಬರ್",
    ),
}

#: Monday to Sunday by language; casefolded.
WEEKDAYS = {
    "en": "monday tuesday wednesday thursday friday saturday sunday",
    "de": "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "hi": "सोमवार मंगलवार बुधवार गुरुवार शुक्रवार शनिवार रविवार",
    "ta": "திங்கள் செவ்வாய் புதன் வியாழன் வெள்ளி சனி ஞாயிறு",
    "kn": "ಸೋಮವಾರ ಮಂಗಳವಾರ ಬುಧವಾರ ಗುರುವಾರ ಶುಕ್ರವಾರ ಶನಿವಾರ ಭಾನುವಾರ",
}

#: The number of the month, 1 to 12, that a name stands for.
MONTH_NUMBERS = {
    name: number for months in MONTHS.values() for number, names in enumerate(months, start=1) for name in names.split()
}
WEEKDAY_NAMES = word_list(" ".join(WEEKDAYS.values()))
