/** From the input of a form to the request that it is, and to the lines that send the same from elsewhere. */
import { randomId, type Sent } from "../calls.ts"
import type { Details, OperationRow, Schema } from "../model.ts"
import { root } from "../root.ts"
import { quote } from "./lines.ts"
import { paramsOf } from "./manifest.ts"

/** Values by field, as they travel; a field that is not there is not sent. */
export interface Input {
  readonly fields: Readonly<Record<string, unknown>>
  /** What is sent instead of JSON. */
  readonly file?: File | Blob | undefined
  /** A publishable key or a user's access token, where the session is of no use. */
  readonly credential?: string | undefined
}

export interface Surroundings {
  readonly organization: string
  readonly project: string | undefined
}

const has = (schema: Schema | undefined, name: string) => schema?.properties?.[name] !== undefined

const encodePath = (value: string, isRest: boolean) =>
  isRest ? value.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(value)

const pathOf = ({ path }: OperationRow, { rest }: Details, fields: Input["fields"]): string => {
  const last = paramsOf(path).at(-1)
  return path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodePath(String(fields[name] ?? ""), rest === true && name === last),
  )
}

const write = (value: unknown): string => (typeof value === "object" ? JSON.stringify(value) : String(value))

const queryOf = ({ query }: Details, fields: Input["fields"]): string => {
  const search = new URLSearchParams()
  for (const name of Object.keys(query?.properties ?? {})) {
    const value = fields[name]
    if (value === undefined || value === null) continue
    for (const item of Array.isArray(value) ? value : [value]) search.append(name, write(item))
  }
  return search.size > 0 ? `?${search}` : ""
}

const bodyFields = ({ body }: Details, fields: Input["fields"]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => has(body, name)))

const formOf = (fields: Record<string, unknown>, file: Blob | undefined): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, write(value))
  if (file) form.append("file", file, file instanceof File ? file.name : "file")
  return form
}

const bodyOf = (operation: OperationRow, details: Details, { fields, file }: Input): Sent["body"] => {
  const given = bodyFields(details, fields)
  if (details.sends === "multipart") return formOf(given, file)
  if (details.sends === "form") return new URLSearchParams(given as Record<string, string>).toString()
  if (details.sends === "bytes" || details.sends === "gzip") return file
  if (!details.body || operation.method === "GET") return undefined
  return JSON.stringify(details.bodyAs === undefined ? given : (given[details.bodyAs] ?? {}))
}

const TYPES: Readonly<Record<string, string>> = {
  form: "application/x-www-form-urlencoded",
  gzip: "application/gzip",
}

const typeOf = (body: Sent["body"], { sends, body: declared }: Details): string | undefined => {
  if (body === undefined || body instanceof FormData) return undefined
  if (body instanceof Blob) return TYPES[sends ?? ""] ?? (body.type || "application/octet-stream")
  return TYPES[sends ?? ""] ?? (declared ? "application/json" : undefined)
}

const credentialOf = ({ caller }: OperationRow, credential: string | undefined): Record<string, string> => {
  if (!credential) return {}
  return caller === "k" && !credential.startsWith("ey")
    ? { apikey: credential }
    : { authorization: `Bearer ${credential}` }
}

export const requestOf = (
  operation: OperationRow,
  details: Details,
  input: Input,
  { organization, project }: Surroundings,
): Sent => {
  const body = bodyOf(operation, details, input)
  const type = typeOf(body, details)
  const declared = Object.keys(details.headers?.properties ?? {}).flatMap(name => {
    const value = input.fields[name]
    return value === undefined || value === "" ? [] : [[name, String(value)] as const]
  })
  return {
    method: operation.method,
    path: `${pathOf(operation, details, input.fields)}${queryOf(details, input.fields)}`,
    headers: {
      ...(type ? { "content-type": type } : {}),
      ...Object.fromEntries(declared),
      ...credentialOf(operation, input.credential),
      ...(operation.caller === "s" ? { "x-svc-organization": organization } : {}),
      ...(details.project && project && operation.caller === "s" ? { "x-svc-project": project } : {}),
      ...(details.keyed ? { "idempotency-key": randomId() } : {}),
    },
    body,
  }
}

/** Headers that only this browser has to send. */
const OWN = new Set(["x-svc-organization", "idempotency-key", "authorization", "apikey"])

const curlBody = ({ body }: Sent): string[] => {
  if (body === undefined) return []
  if (typeof body === "string") return [`-d ${quote(body)}`]
  return body instanceof FormData ? ["-F file=@FILE"] : ["--data-binary @FILE"]
}

/** One line for a terminal. The key stays in a variable: what is copied has no secret in it. */
export const curlOf = (sent: Sent, caller: OperationRow["caller"] = "s"): string => {
  const names = {
    s: "authorization: Bearer $SVC_TOKEN",
    k: "apikey: $SVC_PUBLISHABLE_KEY",
    u: "authorization: Bearer $USER_TOKEN",
    p: "",
  }
  const parts = [
    `curl${sent.method === "GET" ? "" : ` -X ${sent.method}`} ${quote(`${location.origin}${root}${sent.path}`)}`,
    ...(names[caller] ? [`-H "${names[caller]}"`] : []),
    ...Object.entries(sent.headers)
      .filter(([name]) => !OWN.has(name))
      .map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`),
    ...curlBody(sent),
  ]
  return parts.join(" \\\n  ")
}

/** The same with the SDK. */
export const sdkOf = ({ area, key }: OperationRow, { fields }: Input): string => {
  const given = Object.keys(fields).length === 0 ? "" : JSON.stringify(fields, null, 2)
  return `const svc = createSvc({ apiKey: process.env.SVC_TOKEN, baseUrl: ${JSON.stringify(`${location.origin}${root}`)} })
await svc.${area.name}.${key}(${given})`
}
