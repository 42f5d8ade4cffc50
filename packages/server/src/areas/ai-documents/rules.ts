/** What a request asks for, checked. */
import { type areas, DOCUMENT_DATA_BYTES_MAX, type Input } from "@svc/contract"
import { toTexts } from "../../kernel/exact-json.ts"
import { fault } from "../../kernel/fault.ts"
import type { DocumentSource } from "./making/blocks.ts"
import { templates } from "./templates.ts"

export type SourceInput = Input<(typeof areas.aiDocuments.specs)["preview"]>
type Data = Readonly<Record<string, unknown>>

/** The name of a template that is the caller's own. */
const CUSTOM = "custom"
const TEMPLATE_ID = /^[a-z0-9-]{1,64}$/

export const NO_MODEL =
  "writing documents by a model is not available, whichever upstreams SVC_AI_UPSTREAMS names; send `content`, or `template` and `data`"

/** Repeating the request is in vain. */
export const noModel = () =>
  fault("all_providers_exhausted", { reason: NO_MODEL }, { headers: { "x-should-retry": "false" } })

const invalid = (reason: string) => fault("invalid_parameter", { reason })

/** Numbers that keep their digits are printed as texts: no other form of them reaches a thread. */
export const readData = (data: Data): Data => {
  const texts = toTexts(data) as Data
  if (Buffer.byteLength(JSON.stringify(texts)) > DOCUMENT_DATA_BYTES_MAX)
    throw invalid(`data has more than ${DOCUMENT_DATA_BYTES_MAX} bytes as JSON`)
  return texts
}

const readTemplate = (template: string, data: Data) => {
  if (!TEMPLATE_ID.test(template)) return { template: CUSTOM, text: template }
  const found = templates.find(({ id }) => id === template)
  if (!found)
    throw invalid(`no template is called ${template}: there are ${templates.map(({ id }) => id).join(", ")}`)
  const missing = found.variables.filter(({ name, required }) => required && !(name in data))
  if (missing.length > 0) throw invalid(`data lacks ${missing.map(({ name }) => name).join(", ")}`)
  return { template, text: found.source }
}

export interface ReadSource {
  readonly source: DocumentSource
  readonly template: string | null
}

export const readSource = (input: SourceInput): ReadSource => {
  const { title = null, content, template, prompt, data, style = {} } = input
  const given = [content, template, prompt].filter(value => value !== undefined)
  if (given.length !== 1) throw invalid("give exactly one of content, template and prompt")
  if (prompt !== undefined) throw noModel()
  const common = { title, style, edits: [] }
  if (template === undefined) {
    if (data !== undefined) throw invalid("data is for a template")
    return { template: null, source: { ...common, text: content ?? "", data: null } }
  }
  const values = readData(data ?? {})
  const { text, template: id } = readTemplate(template, values)
  return { template: id, source: { ...common, text, data: values } }
}
