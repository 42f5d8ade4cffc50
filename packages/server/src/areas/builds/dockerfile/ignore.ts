/** What a `.dockerignore` leaves out of the context. */
import { partsOf, pathMatcher } from "./glob.ts"

interface Rule {
  readonly matches: (parts: readonly string[]) => boolean
  readonly isException: boolean
}

const LINES_MAX = 1_000
const LINE_LENGTH_MAX = 1_000

/** Whether a path of the context, without a slash in front, is left out: it, or a folder that it is in. */
export const readIgnore = (text: string): ((path: string) => boolean) => {
  const rules: Rule[] = []
  for (const raw of text.split(/\r?\n/).slice(0, LINES_MAX)) {
    const line = raw.trim().slice(0, LINE_LENGTH_MAX)
    if (line === "" || line.startsWith("#")) continue
    const isException = line.startsWith("!")
    const glob = partsOf(isException ? line.slice(1).trim() : line).join("/")
    if (glob !== "") rules.push({ matches: pathMatcher(glob), isException })
  }
  return path => {
    const parts = partsOf(path)
    const above = parts.map((_, at) => parts.slice(0, at + 1))
    let isIgnored = false
    for (const { matches, isException } of rules) if (above.some(matches)) isIgnored = !isException
    return isIgnored
  }
}
