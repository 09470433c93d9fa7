set(ORR_SOURCES_CODEC
    src/codec/apply.c
    src/codec/decode.c
    src/codec/encode.c)
