/** Runs Harper, which takes seconds to begin and 400 MB: a thread of its own, that ends when idle. */
import { answerTasks } from "../../../kernel/concurrency/thread-side.ts"
import { type Finding, type Grammar, toGrammar } from "./grammar.ts"
import type { GrammarTask } from "./tasks.ts"

const SUGGESTIONS = ["replace", "remove", "insert_after"] as const

const load = async () => {
  const [{ Dialect, LocalLinter }, { binary }] = await Promise.all([
    import("harper.js"),
    import("harper.js/binary"),
  ])
  const dialects = {
    american: Dialect.American,
    british: Dialect.British,
    canadian: Dialect.Canadian,
    australian: Dialect.Australian,
  }
  const linter = new LocalLinter({ binary, dialect: Dialect.American })
  await linter.setup()
  return { linter, dialects }
}

let loading: ReturnType<typeof load> | undefined

const check = async ({ text, dialect }: GrammarTask): Promise<Grammar> => {
  loading ??= load()
  const { linter, dialects } = await loading
  await linter.setDialect(dialects[dialect])
  const findings: Finding[] = []
  for (const [rule, lints] of Object.entries(await linter.organizedLints(text, { language: "plaintext" })))
    for (const lint of lints) {
      const { start, end } = lint.span()
      const suggestions = lint.suggestions().map(suggestion => ({
        kind: SUGGESTIONS[suggestion.kind()] ?? "replace",
        text: suggestion.get_replacement_text(),
      }))
      const [kind, kindName] = [lint.lint_kind(), lint.lint_kind_pretty()]
      findings.push({ rule, kind, kindName, message: lint.message(), start, end, suggestions })
      lint.free()
    }
  return toGrammar(text, findings)
}

/** Where the optional package is not installed there is no answer. */
const checkOrNothing = async (task: GrammarTask): Promise<Grammar | null> => {
  try {
    return await check(task)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return null
    throw error
  }
}

answerTasks(checkOrNothing)
