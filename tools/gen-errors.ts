/** Writes docs/errors/<code>.md, the page every error's docs_url leads to, from the table of faults. */
import { mkdir, readdir, rm, writeFile } from "node:fs/promises"
import { STATUS_CODES } from "node:http"
import { join } from "node:path"
import {
  type FaultCode,
  type FaultParam,
  type FaultSpec,
  faultCodes,
  faultSpec,
  faultText,
  wireCode,
} from "../packages/contract/src/faults.ts"

// One value for each fact a text can carry, so that the example on a page reads like a real answer. A reason is
// another program's own words, so a page shows the text without it.
const exampleParams: Readonly<Record<Exclude<FaultParam, "reason">, string | number>> = {
  actual: 384,
  address: "198.51.100.7",
  bytes: 1_048_576,
  decision: "rejected",
  domain: "mail.example.com",
  expected: 768,
  field: "query.path",
  grant_type: "password",
  header: "authorization",
  id: "01980d5e-7c3a-7b61-9c55-0a4f3e8b2d10",
  index: 3,
  isolation: "dedicated",
  key: "images/logo.png",
  limit: 20,
  method: "GET",
  methods: "GET or POST",
  model: "large-1",
  module: "infrastructure",
  name: "photos",
  names: "first_name",
  path: "/etc/passwd",
  plan: "free",
  provider: "acme",
  resource: "bucket",
  resources: "projects",
  roles: "owner or admin",
  scopes: "kv:write",
  seconds: 30,
  state: "stopped",
  types: "application/json",
  value: "10.0.0.0/33",
}

const requestId = "01980d5e-9f00-7d2c-8a11-6b7c8d9e0f12"

/** File name → content of every page, one for each code on the wire. */
export const renderErrorPages = (): Map<string, string> => {
  const byWireCode = Map.groupBy(faultCodes, wireCode)
  return new Map([...byWireCode].map(([wire, codes]) => [`${wire}.md`, renderPage(wire, codes)]))
}

const renderPage = (wire: string, codes: readonly FaultCode[]): string => {
  const sections = codes.map(code => {
    const spec = faultSpec(code)
    return [
      `Status **${spec.status} ${STATUS_CODES[spec.status]}**`,
      `> ${faultText(code, exampleParams)}`,
      `## What it means and what to do`,
      spec.help,
      retryAdvice(spec),
      `## Example`,
      exampleReply(wire, code, spec),
    ].join("\n\n")
  })
  return `# ${wire}\n\n${sections.join("\n\n---\n\n")}\n`
}

const retryAdvice = ({ status, retryable }: FaultSpec): string => {
  if (status < 400) return "This is not an error: the request was accepted and waits."
  if (retryable)
    return "The same request may succeed later. Wait as `Retry-After` says, or longer after each failure."
  if (status === 429) return "Repeating the request at once does not help."
  if (status >= 500) return "Repeating the request without a change on the server is unlikely to help."
  return "The same request will be refused again until its cause is removed."
}

const exampleReply = (wire: string, code: FaultCode, { status }: FaultSpec): string => {
  if (status < 400)
    return json({
      data: { status: "pending_approval", approval: { id: exampleParams.id } },
      request_id: requestId,
    })

  const text = faultText(code, exampleParams)
  const rest = { docs_url: `{base_url}/docs/errors/${wire}`, request_id: requestId }
  if (wire.startsWith("oauth_"))
    return json({ error: wire.slice("oauth_".length), error_description: text, code: wire, ...rest })
  if (wire === "validation_failed")
    return json({
      code: wire,
      error: text,
      errors: [{ location: "body.name", message: "must be a string" }],
      ...rest,
    })
  return json({ code: wire, error: text, ...rest })
}

const json = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``

/** Makes the folder hold exactly the rendered pages. */
export const writeErrorPages = async (folder: string): Promise<void> => {
  const pages = renderErrorPages()
  await mkdir(folder, { recursive: true })
  const stale = (await readdir(folder)).filter(name => name.endsWith(".md") && !pages.has(name))
  await Promise.all(stale.map(name => rm(join(folder, name))))
  await Promise.all([...pages].map(([name, content]) => writeFile(join(folder, name), content)))
}

if (import.meta.main) await writeErrorPages(join(import.meta.dirname, "../docs/errors"))
