/** The two pages that a person who unsubscribes sees. They hold nothing of the mail, the sender or the recipient. */
export type Page = Buffer

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;text-align:center}" +
  "button{font:inherit;padding:.5rem 1.5rem;cursor:pointer}"

const page = (title: string, content: string): Page =>
  Buffer.from(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
      `<meta name="robots" content="noindex"><title>${title}</title><style>${STYLE}</style>` +
      `<h1>${title}</h1>${content}</html>`,
  )

export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
}

export const pages = {
  question: page(
    "Unsubscribe",
    `<p>Get no more mail from this sender?</p><form method="post"><button>Unsubscribe</button></form>`,
  ),
  done: page("Unsubscribed", "<p>You will get no more mail from this sender.</p>"),
}
