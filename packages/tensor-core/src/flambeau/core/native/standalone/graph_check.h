/* Files that are no graph: these throw Failure. */
#pragma once
#include "standalone/graph.h"

[[noreturn]] void not_a_graph(const std::string &why);
/* Written in a form that is not read any more. */
[[noreturn]] void too_old();
/* A branch takes a condition, a loop what it carries, then both what their graphs take besides; how
 * many values a loop carries. */
int check_regions(const Node &made, const std::string &key);
/* As many arguments and results as an operator has. */
void check_results(const Node &made, const std::string &key);
/* A scale, bins down and across, points of a bin or none above 0, and whether pixels have centres. */
void check_regions_of_images(const Node &made);
