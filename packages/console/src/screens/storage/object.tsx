/** One object: what is in it, a link for others, its versions. */
import { useEffect, useMemo, useState } from "react"
import { call, callRaw } from "../../api.ts"
import { bytesOf } from "../../derived/labels.ts"
import type { Surroundings } from "../../derived/request.ts"
import { Ask } from "../../ui/ask.tsx"
import { Copy } from "../../ui/copy.tsx"
import { useLoaded } from "../../ui/load.ts"
import { Problem } from "../../ui/problem.tsx"
import { saveBlob } from "../../ui/save.ts"
import { Time } from "../../ui/value.tsx"

export interface StoredObject {
  readonly key: string
  readonly size: number
  readonly etag: string
  readonly last_modified: string
  readonly http_metadata: { readonly content_type?: string }
  readonly version_id: string | null
}

interface Version extends StoredObject {
  readonly is_latest: boolean
  readonly is_delete_marker: boolean
}

export interface Place {
  readonly bucket: string
  readonly surroundings: Surroundings
}

const PREVIEW_BYTES_MAX = 5_000_000
const TEXT_SHOWN_MAX = 100_000
const TEXT = /^text\/|[/+](json|xml|yaml|toml)\b|javascript|x-sh\b|sql\b/
const TEXT_NAME =
  /\.(txt|md|csv|tsv|log|json|ya?ml|toml|sql|ts|tsx|js|css|html|xml|svg|sh|py|go|rs|java|ini|env)$/i

export const kindOf = ({ key, http_metadata: { content_type = "" } }: StoredObject) => {
  if (content_type.startsWith("image/")) return "image"
  if (content_type.startsWith("audio/")) return "audio"
  if (content_type.startsWith("video/")) return "video"
  return TEXT.test(content_type) || TEXT_NAME.test(key) ? "text" : "other"
}

const useBlobUrl = (blob: Blob | undefined): string | undefined => {
  const url = useMemo(() => blob && URL.createObjectURL(blob), [blob])
  useEffect(() => () => (url === undefined ? undefined : URL.revokeObjectURL(url)), [url])
  return url
}

const baseName = (key: string): string => key.split("/").filter(Boolean).at(-1) ?? key

/** Never as a page: what tenants store is not ours. */
const Preview = ({ object, place }: { readonly object: StoredObject; readonly place: Place }) => {
  const kind = kindOf(object)
  const isShown = kind !== "other" && object.size <= PREVIEW_BYTES_MAX
  const loaded = useLoaded(`${object.key} ${object.etag} ${isShown}`, async () => {
    if (!isShown) return undefined
    const fields = { bucket: place.bucket, key: object.key }
    const { blob, text } = await callRaw("getObject", fields, place.surroundings, { quiet: true })
    if (kind === "text") return { text: (text ?? (await blob?.text()) ?? "").slice(0, TEXT_SHOWN_MAX) }
    return { blob: blob ?? new Blob([text ?? ""], { type: object.http_metadata.content_type ?? "" }) }
  })
  const value = loaded.state === "ready" ? loaded.value : undefined
  const url = useBlobUrl(value && "blob" in value ? value.blob : undefined)
  if (loaded.state === "loading") return <p className="soft">Loading …</p>
  if (loaded.state === "failed") return <p className="notice bad">{loaded.reason}</p>
  if (value && "text" in value)
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard
      <pre tabIndex={0}>{value.text}</pre>
    )
  if (url && kind === "image") return <img className="preview" src={url} alt={baseName(object.key)} />
  // biome-ignore lint/a11y/useMediaCaption: a recording of the caller's own has no captions
  if (url && kind === "audio") return <audio controls src={url} />
  // biome-ignore lint/a11y/useMediaCaption: a recording of the caller's own has no captions
  if (url && kind === "video") return <video className="preview" controls src={url} />
  return <p className="soft small">There is no preview of this kind or size. Save it, or make a link.</p>
}

const LIFETIMES = [
  [3_600, "an hour"],
  [86_400, "a day"],
  [604_800, "a week"],
] as const

const Share = ({ object, place }: { readonly object: StoredObject; readonly place: Place }) => {
  const [seconds, setSeconds] = useState<number>(LIFETIMES[0][0])
  const [link, setLink] = useState<{ readonly url: string; readonly expires_at: string }>()
  const [error, setError] = useState<unknown>()
  const make = async () => {
    setError(undefined)
    try {
      const fields = { bucket: place.bucket, key: object.key, method: "GET", expires_in: seconds }
      setLink(await call("presignObject", fields, place.surroundings))
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <section aria-label="Link">
      <h3>Link for others</h3>
      <div className="line">
        <select
          aria-label="Works for"
          className="narrow"
          value={seconds}
          onChange={event => setSeconds(Number(event.target.value))}
        >
          {LIFETIMES.map(([value, text]) => (
            <option key={value} value={value}>
              for {text}
            </option>
          ))}
        </select>
        <button type="button" className="quiet" onClick={make}>
          Make a link
        </button>
      </div>
      {link && (
        <div className="code-box">
          <Copy text={link.url} />
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard */}
          <pre tabIndex={0}>{link.url}</pre>
        </div>
      )}
      <Problem error={error} />
    </section>
  )
}

const Versions = ({
  object,
  place,
  onChanged,
}: {
  readonly object: StoredObject
  readonly place: Place
  readonly onChanged: () => void
}) => {
  const [error, setError] = useState<unknown>()
  const loaded = useLoaded(`versions ${object.key} ${object.etag}`, async () => {
    const fields = { bucket: place.bucket, prefix: object.key, limit: 100 }
    const { data } = await call<{ readonly data: readonly Version[] }>(
      "listObjectVersions",
      fields,
      place.surroundings,
      { quiet: true },
    )
    return data.filter(({ key, version_id }) => key === object.key && version_id !== null)
  })
  if (loaded.state !== "ready" || loaded.value.length === 0) return null
  const restore = async (version_id: string | null) => {
    try {
      await call(
        "restoreObjectVersion",
        { bucket: place.bucket, key: object.key, version_id },
        place.surroundings,
      )
      onChanged()
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <section aria-label="Versions">
      <h3>Versions</h3>
      <ul className="rows">
        {loaded.value.map(({ version_id, last_modified, size, is_latest, is_delete_marker }) => (
          <li key={version_id}>
            <Time time={last_modified} />
            <span className="soft number">{is_delete_marker ? "deleted" : bytesOf(size)}</span>
            {is_latest ? (
              <span className="soft">now</span>
            ) : (
              !is_delete_marker && (
                <button type="button" className="quiet small" onClick={() => restore(version_id)}>
                  Restore
                </button>
              )
            )}
          </li>
        ))}
      </ul>
      <Problem error={error} />
    </section>
  )
}

export const ObjectPanel = ({
  object,
  place,
  onClose,
  onChanged,
}: {
  readonly object: StoredObject
  readonly place: Place
  readonly onClose: () => void
  readonly onChanged: () => void
}) => {
  const [error, setError] = useState<unknown>()
  const [isAsking, setAsking] = useState(false)
  const { bucket, surroundings } = place
  const save = async () => {
    try {
      const { blob, text } = await callRaw("getObject", { bucket, key: object.key }, surroundings)
      saveBlob(baseName(object.key), blob ?? new Blob([text ?? ""]))
    } catch (refused) {
      setError(refused)
    }
  }
  const remove = async () => {
    setAsking(false)
    try {
      await call("deleteObject", { bucket, key: object.key }, surroundings)
      onClose()
      onChanged()
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <aside className="panel" aria-label={object.key}>
      <div className="head">
        <h2>{baseName(object.key)}</h2>
        <button type="button" className="quiet small" onClick={onClose}>
          Close
        </button>
      </div>
      <p className="soft small">
        {bytesOf(object.size)} · {object.http_metadata.content_type ?? "no type"} ·{" "}
        <Time time={object.last_modified} />
      </p>
      <Preview object={object} place={place} />
      <p className="buttons">
        <button type="button" className="quiet" onClick={save}>
          Save
        </button>
        <button type="button" className="quiet" onClick={() => setAsking(true)}>
          Delete
        </button>
      </p>
      <Problem error={error} />
      <Share object={object} place={place} />
      <Versions object={object} place={place} onChanged={onChanged} />
      {isAsking && (
        <Ask
          title={`Delete ${baseName(object.key)}?`}
          verb="Delete"
          onYes={remove}
          onNo={() => setAsking(false)}
        >
          <p>
            <code>{object.key}</code> in <code>{bucket}</code>. With versions on, it can be restored.
          </p>
        </Ask>
      )}
    </aside>
  )
}
