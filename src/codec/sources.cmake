set(ORR_OPTION_CODEC ORR_HISTORY)
set(ORR_SOURCES_CODEC
    src/codec/apply.c
    src/codec/decode.c
    src/codec/encode.c)
# Not on a hot path: compiled for size.
set(ORR_SMALL_CODEC ${ORR_SOURCES_CODEC})
