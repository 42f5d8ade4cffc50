/** docs/generated/specification.md: which operations of the specification are there. */
import { readFileSync } from "node:fs"
import { allOperations } from "../packages/contract/src/index.ts"

interface Row {
  readonly method: string
  readonly path: string
  readonly operationId: string
}

const rows: readonly Row[] = JSON.parse(readFileSync("packages/contract/spec/operations.json", "utf8"))

const line = ({ method, path, operationId }: Row): string => `| \`${method} ${path}\` | ${operationId} |`

export const renderSpecification = (): string => {
  const declared = new Set<string>(allOperations.map(({ http }) => http))
  const missing = rows.filter(({ method, path }) => !declared.has(`${method} ${path}`))
  const extensions = allOperations.filter(operation => operation.extension).length
  return `# The specification, and what is there of it

${rows.length - missing.length} of the ${rows.length} operations of the specification are there, and ${extensions} more. [api.txt](api.txt) lists them.

## Not there

| operation | id |
| --- | --- |
${missing.map(line).join("\n")}
`
}
