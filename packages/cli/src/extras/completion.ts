/** Completion for bash and zsh: one function, with the contract's words written into it. */
import { allAreas } from "@svc/contract"
import { globalFlags } from "../arguments.ts"
import { commandOf, type Extras, fieldsOf, operationsOf, secondWords } from "../commands.ts"
import { UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"

// The words come from the contract and hold letters, digits and dashes only, so none needs quoting.
const script = (after: ReadonlyMap<string, ReadonlySet<string>>): string => `_svc() {
  local word="\${COMP_WORDS[COMP_CWORD]}" area="\${COMP_WORDS[1]}" operation="\${COMP_WORDS[2]}" words=""
  if [[ $COMP_CWORD -eq 1 ]]; then
    words="${[...after.keys()].join(" ")}"
  elif [[ $COMP_CWORD -eq 2 ]]; then
    case "$area" in
${[...after].map(([first, words]) => `      ${first}) words="${[...words].join(" ")}" ;;`).join("\n")}
    esac
  else
    case "$area $operation" in
${allAreas
  .flatMap(operationsOf)
  .filter(operation => fieldsOf(operation).length > 0)
  .map(operation => `      "${commandOf(operation)}") words="${flagsOf(operation)}" ;;`)
  .join("\n")}
    esac
    words="$words ${Object.keys(globalFlags)
      .map(flag => `--${flag}`)
      .join(" ")}"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _svc svc
`

const flagsOf = (operation: Parameters<typeof fieldsOf>[0]): string =>
  fieldsOf(operation)
    .map(({ flag }) => `--${flag}`)
    .join(" ")

/** `eval "$(svc completion bash)"` in the shell's start file. */
export const createCompletion =
  (extras: () => Extras): Extra =>
  async (_globals, [shell], { out }) => {
    const text = script(secondWords(extras()))
    if (shell === "bash") out.line(text)
    else if (shell === "zsh") out.line(`autoload -U +X bashcompinit && bashcompinit\n${text}`)
    else throw new UsageError("usage: svc completion bash|zsh")
    return undefined
  }
