/** Where an answer may go. */

const LOOPBACK: ReadonlySet<string> = new Set(["127.0.0.1", "[::1]", "localhost"])
/** Schemes that a browser runs, shows or reads itself. */
const FORBIDDEN: ReadonlySet<string> = new Set([
  ..."javascript: data: vbscript: file: blob: about: filesystem: view-source: ws: wss: ftp: mailto: tel: sms: chrome: intent:".split(
    " ",
  ),
])
const CHARACTERS = /^[\x21-\x7e]+$/

const parse = (text: string): URL | undefined =>
  CHARACTERS.test(text) && !text.includes("\\") && URL.canParse(text) ? new URL(text) : undefined

const isLoopback = ({ protocol, hostname }: URL): boolean => protocol === "http:" && LOOPBACK.has(hostname)

/** What can be said against a redirect URI; undefined where nothing can. */
export const redirectProblem = (text: string): string | undefined => {
  const url = parse(text)
  if (!url) return "it is not a URL"
  if (text.includes("#")) return "it has a fragment"
  if (url.username !== "" || url.password !== "") return "it has a name or password"
  if (FORBIDDEN.has(url.protocol)) return `nothing may be sent to ${url.protocol}`
  if (url.protocol === "http:" && !isLoopback(url)) return "plain http is for loopback addresses alone"
  return undefined
}

/** The text without its port. */
const portless = (text: string): string | undefined => {
  const url = parse(text)
  if (!url || !isLoopback(url)) return undefined
  return text.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d{1,5})?(?=[/?]|$)/, "$1")
}

/** Whether an answer may go there: equal character by character, but for the port of a loopback address (RFC 8252, 7.3). */
export const isRegistered = (given: string, registered: readonly string[]): boolean => {
  if (registered.includes(given)) return true
  const bare = portless(given)
  return bare !== undefined && registered.some(uri => portless(uri) === bare)
}

/** The source of `form-action` that lets a form's answer lead there: browsers hold redirects to it too. */
export const formActionOf = (redirectUri: string): string => {
  const url = new URL(redirectUri)
  return url.protocol === "https:" || url.protocol === "http:" ? url.origin : url.protocol
}

/** What people are shown of it. */
export const shownPlace = (redirectUri: string): string => {
  const url = new URL(redirectUri)
  return url.host === "" ? `${url.protocol}` : url.host
}

/** The URI with parameters added to those that it has. */
export const answerAt = (
  redirectUri: string,
  parameters: Readonly<Record<string, string | null>>,
): string => {
  const added = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== null) added.set(name, value)
  return `${redirectUri}${redirectUri.includes("?") ? "&" : "?"}${added}`
}
