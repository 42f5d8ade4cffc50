import { isRawNumber } from "./exact-json.ts"

/** JSON with object keys in order and no spaces: the same value always gives the same text (after RFC 8785). */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(item => canonicalJson(item ?? null)).join(",")}]`
  if (value instanceof Date || isRawNumber(value)) return JSON.stringify(value)
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`).join(",")}}`
}
