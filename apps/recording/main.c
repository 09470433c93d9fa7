// SPDX-License-Identifier: MIT
// orrery-recording: inspects recordings. `orrery-recording --help` lists the commands.
#include "tool.h"

int main(int argc, char** argv)
{
    return tool_main(argc, argv, stdout, stderr);
}
