import { fault } from "../../../kernel/fault.ts"

/** Others are made by us, or would let a mail claim what is not so. */
const ALLOWED =
  /^(x-[a-z0-9-]{1,72}|references|in-reply-to|auto-submitted|precedence|importance|list-(id|unsubscribe|unsubscribe-post|help|archive))$/i
const RESERVED = /^x-(svc|originating|sender|envelope|original)-/i
/** Printable ASCII: headers of machines. */
const VALUE = /^[\x20-\x7e]{0,998}$/

/** Throws `invalid_parameter` that names the header. */
export const readHeaders = (given: Readonly<Record<string, string>> = {}): Record<string, string> => {
  for (const [name, value] of Object.entries(given)) {
    if (!ALLOWED.test(name) || RESERVED.test(name))
      throw fault("invalid_parameter", { reason: `headers must not have ${JSON.stringify(name)}` })
    if (!VALUE.test(value))
      throw fault("invalid_parameter", {
        reason: `the header ${name} has characters that headers cannot have`,
      })
  }
  return { ...given }
}
