// SPDX-License-Identifier: MIT
// orrery-recording: looks into recordings. `orrery-recording --help` tells how.
#include "tool.h"

int main(int argc, char** argv)
{
    return tool_main(argc, argv, stdout, stderr);
}
