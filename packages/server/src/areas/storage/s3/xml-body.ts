/** The few requests whose body is XML. */
import { s3Fault } from "./errors.ts"

/** `Delete` and `CompleteMultipartUpload` nest three deep. */
const NESTING_MAX = 6

/** When the first document comes: the library is slow to load, and most requests have none. */
const load = async () => {
  const { XMLParser, XMLValidator } = await import("fast-xml-parser")
  // Entities are ours to resolve: with a document type there would be more of them than XML's own five.
  const parser = new XMLParser({
    ignoreAttributes: true,
    ignoreDeclaration: true,
    ignorePiTags: true,
    removeNSPrefix: true,
    parseTagValue: false,
    processEntities: false,
    trimValues: false,
    maxNestedTags: NESTING_MAX,
    isArray: () => true,
  })
  return { isValid: (body: string) => XMLValidator.validate(body) === true, parse: parser.parse.bind(parser) }
}

let loading: ReturnType<typeof load> | undefined

type Node = Readonly<Record<string, readonly unknown[]>>

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }

const resolveEntity = (whole: string, name: string): string => {
  const number = name.startsWith("#x")
    ? Number.parseInt(name.slice(2), 16)
    : name.startsWith("#")
      ? Number(name.slice(1))
      : undefined
  if (number === undefined) {
    const known = ENTITIES[name]
    if (known === undefined) throw s3Fault("MalformedXML", `${whole} is not an entity of XML`)
    return known
  }
  if (!(number > 0 && number <= 0x10ffff) || (number >= 0xd800 && number < 0xe000))
    throw s3Fault("MalformedXML", `${whole} is no character`)
  return String.fromCodePoint(number)
}

const resolveEntities = (value: string): string => value.replace(/&(#?\w{1,10});/g, resolveEntity)

/** The content of a document whose root has that name. Throws MalformedXML. */
export const parseXml = async (body: string, root: string): Promise<Node> => {
  if (/<!(?:DOCTYPE|ENTITY)/i.test(body)) throw s3Fault("MalformedXML", "document types are not accepted")
  loading ??= load()
  const { isValid, parse } = await loading
  if (!isValid(body)) throw s3Fault("MalformedXML")
  let parsed: unknown
  try {
    parsed = parse(body)
  } catch {
    throw s3Fault("MalformedXML")
  }
  const found = isNode(parsed) ? childrenOf(parsed, root)[0] : undefined
  if (!found) throw s3Fault("MalformedXML", `its root is not ${root}`)
  return found
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null

export const childrenOf = (node: Node, name: string): Node[] =>
  (Object.hasOwn(node, name) ? (node[name] ?? []) : []).map(child => (isNode(child) ? child : {}))

/** The texts of all children of that name. */
export const textsOf = (node: Node, name: string): string[] =>
  (Object.hasOwn(node, name) ? (node[name] ?? []) : []).map(child =>
    typeof child === "string" ? resolveEntities(child) : "",
  )

/** The text of the first child of that name. */
export const textOf = (node: Node, name: string): string | undefined => {
  const [first] = Object.hasOwn(node, name) ? (node[name] ?? []) : []
  return typeof first === "string" ? resolveEntities(first) : undefined
}
