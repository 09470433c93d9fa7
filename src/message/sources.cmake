set(ORR_SOURCES_MESSAGE
    src/message/event.c
    src/message/inbox.c
    src/message/lane.c
    src/message/message_print.c
    src/message/messages.c
    src/message/tell.c
)
# Not on any hot way: compiled for size.
set(ORR_SMALL_MESSAGE
    src/message/event.c
    src/message/inbox.c
    src/message/message_print.c
    src/message/messages.c
)
