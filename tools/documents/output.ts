/**
 * Whether what commands printed is what a page shows. `…` stands for any text within a line, and alone on a line for any
 * lines. Runs of spaces count as one, because columns are as wide as the ids in them.
 */
const normalize = (text: string): string =>
  text
    .split("\n")
    .map(line => line.trim().replaceAll(/\s+/g, " "))
    .filter(line => line !== "")
    .join("\n")

const escapeRegExp = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&")

export const isOutput = (printed: string, shown: string): boolean => {
  const pattern = normalize(shown)
    .split("\n")
    .map(line => (line === "…" ? "(?:.*\\n)*" : `${line.split("…").map(escapeRegExp).join(".*")}\\n`))
    .join("")
  return new RegExp(`^${pattern}$`).test(`${normalize(printed)}\n`)
}
