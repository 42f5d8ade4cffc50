/** How the parts of the bench tell what they have found: at once, so that a part that is cut off has told the rest. */
import { readFileSync } from "node:fs"

export type Figures = Readonly<Record<string, string | number>>
export type Tell = (figures: Figures) => void
/** A part of the bench. It finds the platform of `dataDir` running on PORT as process `pid`. */
export type Part = (tell: Tell, dataDir: string, pid: number) => Promise<void>

export const printFigures: Tell = figures => {
  for (const [what, value] of Object.entries(figures)) process.stdout.write(`${what.padEnd(56)} ${value}\n`)
}

/** What cannot be measured is told as that, and the next is measured all the same. */
export const attempt = async (tell: Tell, what: string, work: () => Promise<Figures>): Promise<void> => {
  try {
    tell(await work())
  } catch (error) {
    tell({ [what]: `not measured: ${(error as Error).message}` })
  }
}

/** How many waited for a processor in the last minute: figures of a busy machine are of little worth. */
export const loadAverage = (): string => {
  try {
    return readFileSync("/proc/loadavg", "utf8").split(" ")[0] ?? ""
  } catch {
    return "unknown"
  }
}
