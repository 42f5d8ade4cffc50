/** What schemathesis is told beside the document: credentials, the things that exist, and what it does not judge. */
import { allOperations, faultSpec, isOurs, type Operation } from "@svc/contract"
import { failuresOf, leftOut, refusalsOf, refusedBesides } from "./exclusions.ts"
import type { Input, SeededServer } from "./seeds.ts"

/** How often a parameter names what exists. */
const NAMED = 0.8

const text = (value: unknown): string => JSON.stringify(value)

const isText = (value: unknown): value is string | number =>
  typeof value === "string" || typeof value === "number"

/** What schemathesis takes for an answer to a valid, or to an invalid request. */
const ANSWERS = ["2xx", "3xx", 401, 403, 404, 409, 429, "5xx"]
const REFUSALS = [400, 401, 403, 404, 405, 406, 409, 415, 422, 428, 429, "5xx"]

/** For each operation the parts of its path that name things, and how they are bound. */
const bindingsOf = ({ id, path }: Operation, input: Input | undefined) =>
  [...path.matchAll(/\{(\w+)\}/g)].flatMap(([, field = ""]) => {
    const value = input?.[field]
    if (!isText(value)) return []
    const name = `${id}_${field}`
    return [
      {
        dictionary: `${name} = { values = [${text(value)}] }`,
        parameter: `"path.${field}" = { dictionary = "${name}", probability = ${NAMED} }`,
      },
    ]
  })

export const renderSettings = ({ url, key, otherKeys, session, inputs }: SeededServer): string => {
  const operations = allOperations.filter(isOurs).map(operation => {
    const bindings = bindingsOf(operation, inputs.get(operation.id))
    const own = [...new Set(refusalsOf(operation).map(code => faultSpec(code).status))]
    return {
      dictionaries: bindings.map(({ dictionary }) => dictionary),
      settings: [
        "[[operations]]",
        `include-operation-id = "${operation.id}"`,
        ...(operation.id in leftOut ? ["enabled = false"] : []),
        ...(bindings.length > 0 ? [`parameters = { ${bindings.map(one => one.parameter).join(", ")} }`] : []),
        `checks.not_a_server_error.expected-statuses = ${text(["2xx", "3xx", "4xx", ...failuresOf(operation)])}`,
        `checks.positive_data_acceptance.expected-statuses = ${text([...ANSWERS, ...own])}`,
        "",
      ].join("\n"),
    }
  })
  return `
hooks = "hooks.py"
[generation]
allow-x00 = false
with-security-parameters = false
[headers]
Origin = ${text(url)}
[auth.openapi.bearerKey]
bearer = ${text(key)}
${Object.entries(otherKeys)
  .map(([scheme, secret]) => `[auth.openapi.${scheme}]\nbearer = ${text(secret)}`)
  .join("\n")}
[auth.openapi.consoleSession]
api_key = ${text(session)}
[checks]
max_response_time = 60
[checks.negative_data_rejection]
expected-statuses = ${text([...REFUSALS, ...refusedBesides])}
[checks.missing_required_header]
expected-statuses = ${text([...REFUSALS, ...refusedBesides])}
# Things that earlier requests made belong to them: what is seeded here stays as it is for the operation that it is for.
[phases.examples]
extra-data-sources.responses = false
[phases.coverage]
extra-data-sources.responses = false
unexpected-methods = ["QUERY"]
[dictionaries]
${operations.flatMap(({ dictionaries }) => dictionaries).join("\n")}
${operations.map(({ settings }) => settings).join("\n")}
`
}
