/** `npm run check`: types, format and lint, import rules, size limits, generated files. The same here and in CI. */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { glob } from "node:fs/promises"
import { checkImports } from "./check-imports.ts"
import { checkGaps } from "./check-ledger.ts"
import { checkLinks } from "./check-links.ts"

const LINES_MAX = 400

const run =
  (command: string, ...parameters: string[]) =>
  (): string[] => {
    const { status } = spawnSync(command, parameters, { stdio: "inherit" })
    return status === 0 ? [] : [`${command} ${parameters.join(" ")} failed`]
  }

const checkSizes = async (): Promise<string[]> => {
  const files = await Array.fromAsync(glob(["packages/*/src/**/*.{ts,tsx}", "tools/**/*.ts"]))
  return files
    .filter(file => !file.endsWith(".gen.ts"))
    .map(file => ({ file, lines: readFileSync(file, "utf8").split("\n").length }))
    .filter(({ lines }) => lines > LINES_MAX)
    .map(({ file, lines }) => `${file} has ${lines} lines; split it (${LINES_MAX} at most)`)
}

const checks: Readonly<Record<string, () => string[] | Promise<string[]>>> = {
  types: run("tsc", "-p", "."),
  "types of the console": run("tsc", "-p", "packages/console"),
  "format and lint": run("biome", "check", "."),
  imports: checkImports,
  sizes: checkSizes,
  "links of pages": checkLinks,
  "ledger of gaps": checkGaps,
  "generated files": run(process.execPath, "tools/gen.ts", "--check"),
}

let failed = 0
for (const [name, check] of Object.entries(checks)) {
  const problems = await check()
  for (const problem of problems) process.stderr.write(`${problem}\n`)
  process.stdout.write(`${problems.length === 0 ? "ok    " : "FAILED"}  ${name}\n`)
  failed += problems.length
}
process.exitCode = failed > 0 ? 1 : 0
