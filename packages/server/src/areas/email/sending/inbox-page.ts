/** The mailbox as a plain page: it asks the API with the reader's key or session, and holds nothing itself. */
import { createHash } from "node:crypto"

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { margin: 0 auto; max-width: 60rem; padding: 1rem }
h2 { overflow-wrap: anywhere; margin-bottom: 0 }
form { display: flex; gap: .5rem; margin-bottom: 1rem }
input { flex: 1; min-width: 0; font: inherit; padding: .4rem .6rem }
button { font: inherit; padding: .4rem .8rem; cursor: pointer }
summary { cursor: pointer; font-weight: 600; margin: 1rem 0 }
ol { list-style: none; margin: 0; padding: 0 }
li button { display: grid; grid-template-columns: 14rem 1fr auto; gap: 1rem; width: 100%; text-align: left;
  border: 0; border-bottom: 1px solid #8884; background: none; color: inherit }
li button[aria-current] { background: #8882 }
li span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
iframe { box-sizing: border-box; width: 100%; height: 32rem; border: 1px solid #8884; background: #fff }
pre { white-space: pre-wrap; overflow-wrap: anywhere; border: 1px solid #8884; padding: 1rem; max-height: 32rem;
  overflow: auto }
@media (max-width: 40rem) { li button { grid-template-columns: 1fr auto } li span:nth-child(2) { order: 1; grid-column: 1 / -1 } }
`

// What mails say goes into the page as text alone, or into a frame that may run and load nothing. Mails without a
// document type, and any behind our policy, would be shown by the rules of the nineties.
const SCRIPT = `
"use strict"
const at = id => document.getElementById(id)
const root = location.pathname.replace(/\\/inbox\\/?$/, "")
const FRAME_HEAD = "<!doctype html><meta http-equiv=\\"Content-Security-Policy\\" content=\\"default-src 'none'; " +
  "img-src data:; style-src 'unsafe-inline'\\">"
let key = ""
const ask = async (path, method = "GET") => {
  const headers = key === "" ? {} : { authorization: "Bearer " + key }
  const response = await fetch(root + "/v1/email/inbox" + path, { method, headers })
  const body = response.status === 204 ? {} : await response.json()
  if (response.status === 401 && key === "") throw new Error("Give an API key, or sign in.")
  if (!response.ok) throw new Error(body.error || "the API answered " + response.status)
  return body.data
}
const element = (name, text) => {
  const made = document.createElement(name)
  made.textContent = text
  return made
}
const guarded = act => async event => {
  if (event) event.preventDefault()
  try {
    at("note").textContent = ""
    await act()
  } catch (error) {
    at("note").textContent = error.message
  }
}
const show = id => guarded(async () => {
  const mail = await ask("/" + id)
  for (const open of at("list").querySelectorAll("button")) {
    if (open.dataset.id === id) open.setAttribute("aria-current", "true")
    else open.removeAttribute("aria-current")
  }
  const head = element("h2", mail.subject)
  const facts = element("p", mail.from + " \\u2192 " + mail.to + ", " + new Date(mail.captured_at).toLocaleString())
  const parts = [head, facts]
  if (mail.html !== null) {
    const frame = document.createElement("iframe")
    frame.setAttribute("sandbox", "")
    frame.title = "The mail's HTML"
    frame.srcdoc = FRAME_HEAD + mail.html
    parts.push(frame)
  }
  if (mail.text !== null) parts.push(element("h3", "Text"), element("pre", mail.text))
  for (const { filename, content, size_bytes } of mail.attachments) {
    const link = element("a", filename + " (" + size_bytes + " bytes)")
    link.href = "data:application/octet-stream;base64," + content
    link.download = filename
    const line = document.createElement("p")
    line.append(link)
    parts.push(line)
  }
  const remove = element("button", "Delete")
  remove.onclick = guarded(async () => {
    await ask("/" + id, "DELETE")
    at("mail").replaceChildren()
    await list()
  })
  const source = document.createElement("details")
  source.append(element("summary", "Source"), element("pre", mail.raw))
  parts.push(source, remove)
  at("mail").replaceChildren(...parts)
  head.scrollIntoView({ block: "nearest" })
})
const list = async () => {
  const mails = await ask("?limit=100")
  at("list").replaceChildren(...mails.map(mail => {
    const item = document.createElement("li")
    const open = document.createElement("button")
    open.append(element("span", mail.to), element("span", mail.subject),
      element("span", new Date(mail.captured_at).toLocaleString()))
    open.dataset.id = mail.id
    open.onclick = show(mail.id)
    item.append(open)
    return item
  }))
  at("note").textContent = mails.length === 0 ? "There are no captured mails." : ""
}
at("key").onsubmit = guarded(async () => {
  key = at("secret").value.trim()
  await list()
})
guarded(list)()
`

const digest = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`

export const INBOX_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-cache",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  // The frame of a mail inherits this: it can have styles, and nothing that runs or comes from elsewhere.
  "content-security-policy": [
    "default-src 'none'",
    `script-src ${digest(SCRIPT)}`,
    "style-src 'unsafe-inline'",
    "img-src data:",
    "connect-src 'self'",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
} as const

export const INBOX_PAGE = Buffer.from(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Captured mails</title><style>${STYLE}</style></head>
<body><h1>Captured mails</h1>
<form id="key"><input id="secret" type="password" autocomplete="off" placeholder="API key with email:read"
 aria-label="API key"><button>Show</button></form>
<p id="note" role="status"></p><ol id="list"></ol><article id="mail"></article>
<script>${SCRIPT}</script></body></html>
`)
