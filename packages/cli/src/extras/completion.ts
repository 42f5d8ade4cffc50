/** Completion for bash and zsh: one function, with the contract's words written into it. */
import { allAreas } from "@svc/contract"
import { globalFlags } from "../arguments.ts"
import { areaWord, commandOf, fieldsOf, operationsOf, operationWord } from "../commands.ts"
import { UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"

// The words come from the contract and hold letters, digits and dashes only, so none needs quoting.
const script = (extras: readonly string[]): string => `_svc() {
  local word="\${COMP_WORDS[COMP_CWORD]}" area="\${COMP_WORDS[1]}" operation="\${COMP_WORDS[2]}" words=""
  if [[ $COMP_CWORD -eq 1 ]]; then
    words="${[...allAreas.map(areaWord), ...extras].join(" ")}"
  elif [[ $COMP_CWORD -eq 2 ]]; then
    case "$area" in
${allAreas.map(area => `      ${areaWord(area)}) words="${operationsOf(area).map(operationWord).join(" ")}" ;;`).join("\n")}
      completion) words="bash zsh" ;;
      help) words="${allAreas.map(areaWord).join(" ")}" ;;
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
  (extras: () => readonly string[]): Extra =>
  async (_globals, [shell], { out }) => {
    if (shell === "bash") out.line(script(extras()))
    else if (shell === "zsh") out.line(`autoload -U +X bashcompinit && bashcompinit\n${script(extras())}`)
    else throw new UsageError("usage: svc completion bash|zsh")
    return undefined
  }
