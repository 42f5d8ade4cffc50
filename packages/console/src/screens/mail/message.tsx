/** One mail: as a reader sees it, as text, as it travels, and what is attached. */
import { useEffect, useRef, useState } from "react"
import { call } from "../../api.ts"
import { bytesOf } from "../../derived/labels.ts"
import type { Surroundings } from "../../derived/request.ts"
import { root } from "../../root.ts"
import { Copy } from "../../ui/copy.tsx"
import { useLoaded } from "../../ui/load.ts"
import { Problem } from "../../ui/problem.tsx"
import { saveBlob } from "../../ui/save.ts"
import { Tabs } from "../../ui/tabs.tsx"
import { Time } from "../../ui/value.tsx"

interface Attachment {
  readonly filename: string
  readonly content_type: string
  readonly size_bytes: number
  readonly content: string
}

interface Mail {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly subject: string
  readonly captured_at: string
  readonly text: string | null
  readonly html: string | null
  readonly raw: string
  readonly attachments: readonly Attachment[]
}

/** In a page of its own without origin, scripts or network: a mail is written by strangers. */
const HtmlBody = ({ html }: { readonly html: string }) => {
  const frame = useRef<HTMLIFrameElement>(null)
  useEffect(() => {
    const tell = () => frame.current?.contentWindow?.postMessage(html, "*")
    const onMessage = (event: MessageEvent) => {
      if (event.source === frame.current?.contentWindow && event.data === "ready") tell()
    }
    addEventListener("message", onMessage)
    tell()
    return () => removeEventListener("message", onMessage)
  }, [html])
  return (
    <>
      <iframe
        ref={frame}
        className="mail-frame"
        title="The mail as its reader sees it"
        sandbox="allow-scripts"
        src={`${root}/console/frame`}
      />
      <p className="soft small">Pictures of other hosts are not fetched, so that no sender learns of it.</p>
    </>
  )
}

const Raw = ({ text }: { readonly text: string }) => (
  <div className="code-box">
    <Copy text={text} />
    <pre className="mail-text">{text}</pre>
  </div>
)

const bytes = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), character => character.charCodeAt(0))

const Attachments = ({ attachments }: Pick<Mail, "attachments">) => (
  <ul className="rows">
    {attachments.map(({ filename, content_type, size_bytes, content }, at) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: two may have one name
      <li key={at}>
        <span className="upload-name">{filename}</span>
        <span className="soft">{content_type}</span>
        <span className="soft number">{bytesOf(size_bytes)}</span>
        <button
          type="button"
          className="quiet small"
          onClick={() => saveBlob(filename, new Blob([bytes(content)], { type: content_type }))}
        >
          Save
        </button>
      </li>
    ))}
  </ul>
)

/** Links that the mail asks its reader to follow: what a person testing a sign-up wants first. */
export const linksOf = ({ html, text }: Pick<Mail, "html" | "text">): readonly string[] => {
  const found = `${html ?? ""} ${text ?? ""}`.replaceAll("&amp;", "&").match(/https?:\/\/[^\s"'<>)]+/g) ?? []
  return [...new Set(found)].slice(0, 8)
}

const Body = ({ mail, tab }: { readonly mail: Mail; readonly tab: string }) => {
  if (tab === "html") return <HtmlBody html={mail.html ?? ""} />
  if (tab === "text") return <Raw text={mail.text ?? ""} />
  if (tab === "source") return <Raw text={mail.raw} />
  return <Attachments attachments={mail.attachments} />
}

export const Message = ({
  id,
  surroundings,
  onDeleted,
}: {
  readonly id: string
  readonly surroundings: Surroundings
  readonly onDeleted: () => void
}) => {
  const loaded = useLoaded(`mail ${id}`, () =>
    call<Mail>("getEmailInbox", { id }, surroundings, { quiet: true }),
  )
  const [wanted, setWanted] = useState("html")
  const [error, setError] = useState<unknown>()
  if (loaded.state === "loading") return <p className="soft">Loading …</p>
  if (loaded.state === "failed") return <p className="notice bad">{loaded.reason}</p>
  const mail = loaded.value
  const tabs = [
    ...(mail.html === null ? [] : [{ name: "html", title: "HTML" }]),
    ...(mail.text === null ? [] : [{ name: "text", title: "Text" }]),
    { name: "source", title: "Source" },
    ...(mail.attachments.length === 0
      ? []
      : [{ name: "files", title: `Files (${mail.attachments.length})` }]),
  ]
  const tab = tabs.find(({ name }) => name === wanted)?.name ?? tabs[0]?.name ?? "source"
  const links = linksOf(mail)
  const remove = async () => {
    try {
      await call("deleteEmailInbox", { id }, surroundings)
      onDeleted()
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <article className="panel" aria-label={mail.subject}>
      <div className="head">
        <h2>{mail.subject === "" ? "No subject" : mail.subject}</h2>
        <button type="button" className="quiet small" onClick={() => void remove()}>
          Delete
        </button>
      </div>
      <p className="soft small">
        {mail.from} to {mail.to} · <Time time={mail.captured_at} />
      </p>
      <Problem error={error} />
      <Tabs tabs={tabs} chosen={tab} label="Parts of the mail" onChoose={setWanted}>
        <Body mail={mail} tab={tab} />
      </Tabs>
      {links.length > 0 && (
        <section aria-label="Links">
          <h3>Links</h3>
          <ul className="rows">
            {links.map(link => (
              <li key={link}>
                <code className="upload-name">{link}</code>
                <Copy text={link} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </article>
  )
}
