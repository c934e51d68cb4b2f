// An option that takes one of a few names.
#pragma once

#include <CLI/CLI.hpp>

#include <map>
#include <string>
#include <vector>

namespace mla::harness {

/// `target` becomes what the given name stands for. (CLI11's own transformer prints an enumeration's values as
/// characters into help and errors.)
template <class T, class Target>
CLI::Option* add_choice(CLI::App& command, const std::string& option, Target& target,
                        const std::map<std::string, T>& choices, const std::string& description) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  return command
      .add_option_function<std::string>(
          option, [&target, choices](const std::string& name) { target = choices.at(name); }, description)
      ->check(CLI::IsMember(names));
}

}  // namespace mla::harness
