/** Apple's mail privacy fetches every picture when a mail arrives, and names itself by this alone. */
const APPLE_PROXY = "Mozilla/5.0"

const PROGRAMS =
  /bot\b|crawl|spider|scan|preview|monitor|safelinks|proofpoint|mimecast|barracuda|headless|curl|wget|python|java\/|go-http|okhttp|axios|node-fetch|undici|libwww/i

/** Whether no person seems to be behind a request. Proxies that fetch when a person looks, as Gmail's, are people. */
export const isMachine = (userAgent: string | null): boolean =>
  userAgent === null || userAgent.trim() === "" || userAgent === APPLE_PROXY || PROGRAMS.test(userAgent)
