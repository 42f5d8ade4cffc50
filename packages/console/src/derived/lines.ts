/** The same call from a terminal and by an agent. */
import type { OperationRow } from "../model.ts"

export const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const kebab = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase()

type Fields = Readonly<Record<string, unknown>>
type Named = Pick<OperationRow, "id" | "key"> & { readonly area: { readonly name: string } }

/** With the command line, which takes one flag for each field. */
export const cliOf = ({ area, key }: Named, fields: Fields): string => {
  const flags = Object.entries(fields).map(([name, value]) => {
    const flag = kebab(name)
    if (typeof value === "boolean") return value ? `--${flag}` : `--no-${flag}`
    return `--${flag} ${quote(typeof value === "string" ? value : JSON.stringify(value))}`
  })
  return [`svc ${kebab(area.name)} ${kebab(key)}`, ...flags].join(" \\\n  ")
}

/** As the Model Context Protocol calls a tool. */
export const mcpOf = ({ id }: Named, fields: Fields): string => {
  const name = id.replaceAll(/(?<=[a-z0-9])[A-Z]/g, "_$&").toLowerCase()
  return JSON.stringify({ method: "tools/call", params: { name, arguments: fields } }, null, 2)
}
