"""Sources: who said what is held about a person, and taking back what one of them said. Not forgetting: the text stays
on record as a withdrawn version or an archived memory, and messages are not touched."""
