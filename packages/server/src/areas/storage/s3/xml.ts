/** XML as S3 answers it: elements and text, written by hand because there is nothing else to it. */

const HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
/** The namespace of the S3 API, version 2006-03-01. */
export const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"

const NAMES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

/** Control characters travel as numbers, as S3 sends them; XML 1.0 has no way to say them at all. */
const escapeText = (value: string): string =>
  value.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    /[&<>"\u0000-\u001f\u007f\ufffe\uffff]/g,
    sign => NAMES[sign] ?? `&#x${sign.charCodeAt(0).toString(16)};`,
  )

export const text = (name: string, value: string | number | boolean): string =>
  `<${name}>${escapeText(String(value))}</${name}>`

/** The element, or nothing when there is no value. */
export const optional = (name: string, value: string | number | boolean | null | undefined): string =>
  value === undefined || value === null ? "" : text(name, value)

export const element = (name: string, children: readonly string[]): string =>
  children.length === 0 ? `<${name}/>` : `<${name}>${children.join("")}</${name}>`

export const document = (
  name: string,
  namespace: typeof NAMESPACE | null,
  children: readonly string[],
): string => {
  const open = namespace === null ? name : `${name} xmlns="${namespace}"`
  return `${HEAD}<${open}>${children.join("")}</${name}>`
}
