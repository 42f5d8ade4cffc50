/** Addresses of mails, as people write them and as headers carry them. */
import { domainToASCII } from "node:url"
import { fault } from "../../../kernel/fault.ts"

export interface MailAddress {
  /** The domain in ASCII and lower case. */
  readonly email: string
  /** Empty when there is none. */
  readonly name: string
}

export type AddressInput = string | { readonly email: string; readonly name?: string | undefined }

const LOCAL_LENGTH_MAX = 64
const EMAIL_LENGTH_MAX = 254
/** `Name <a@x.dev>`; the name may stand in quotation marks. */
const NAMED = /^(?:"((?:[^"\\]|\\.)*)"\s*|([^<>"]*))<([^<>\s]+)>$/
/** RFC 5321's Dot-string; quoted local parts exist on paper only. */
const LOCAL = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/i
const DOMAIN = /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$/
// A line break in a name would begin another header.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f]/

/** `A@Straße.example` → `A@xn--strae-oqa.example`; undefined when it is no address. */
export const normalEmail = (text: string): string | undefined => {
  const at = text.lastIndexOf("@")
  const local = text.slice(0, at)
  if (at < 1 || local.length > LOCAL_LENGTH_MAX || !LOCAL.test(local) || CONTROL.test(text)) return undefined
  const domain = domainToASCII(text.slice(at + 1)).toLowerCase()
  const email = `${local}@${domain}`
  return DOMAIN.test(domain) && email.length <= EMAIL_LENGTH_MAX ? email : undefined
}

export const domainOf = (email: string): string => email.slice(email.lastIndexOf("@") + 1)

const partsOf = (input: AddressInput): { email: string; name: string } => {
  if (typeof input !== "string") return { email: input.email.trim(), name: input.name ?? "" }
  const text = input.trim()
  const [, quoted, plain, email] = NAMED.exec(text) ?? []
  if (email === undefined) return { email: text, name: "" }
  return { email, name: quoted?.replace(/\\(.)/g, "$1") ?? plain?.trim() ?? "" }
}

/** Throws `invalid_parameter` that names the field. */
export const readAddress = (field: string, input: AddressInput): MailAddress => {
  const { email, name } = partsOf(input)
  const normal = normalEmail(email)
  if (normal === undefined) throw fault("invalid_parameter", { reason: `${field} is not an e-mail address` })
  if (CONTROL.test(name))
    throw fault("invalid_parameter", { reason: `${field} has control characters in its name` })
  return { email: normal, name: name.trim() }
}

export const readAddresses = (
  field: string,
  input: AddressInput | readonly AddressInput[] | undefined,
): MailAddress[] => {
  const list = input === undefined ? [] : Array.isArray(input) ? (input as readonly AddressInput[]) : null
  if (list === null) return [readAddress(field, input as AddressInput)]
  return list.map((item, index) => readAddress(`${field}[${index}]`, item))
}

/** `Ada <ada@example.com>`, for people to read. */
export const shown = ({ email, name }: MailAddress): string => (name === "" ? email : `${name} <${email}>`)
