import type { PushContent } from "./port.ts"

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** The beginning of a text, at most that many characters, never half of one. */
const cut = (text: string, length: number): string => {
  const part = text.slice(0, length)
  return part.isWellFormed() ? part : part.slice(0, -1)
}

/**
 * The content in a service's form, at most that many bytes of JSON: without `data` when it is longer, and then with as
 * much of its body as there is room for.
 */
export const fitContent = <Form>(
  content: PushContent,
  bytesMax: number,
  form: (content: PushContent) => Form,
): Form => {
  const whole = form(content)
  if (bytesOf(whole) <= bytesMax) return whole
  const bare = { ...content, data: {} }
  let length = content.body.length
  let fitted = form(bare)
  while (bytesOf(fitted) > bytesMax && length > 0) {
    length = Math.floor(length / 2)
    fitted = form({ ...bare, body: `${cut(content.body, length)}…` })
  }
  // What is left is an address that is too long.
  return bytesOf(fitted) <= bytesMax ? fitted : form({ ...bare, body: "", actionUrl: null })
}
