/** What is in a bucket, folder by folder. */
import { useState } from "react"
import { call } from "../../api.ts"
import { bytesOf } from "../../derived/labels.ts"
import { href, setQuery } from "../../router.ts"
import { Ask } from "../../ui/ask.tsx"
import { useLoaded } from "../../ui/load.ts"
import { Problem } from "../../ui/problem.tsx"
import { Time } from "../../ui/value.tsx"
import { ObjectPanel, type Place, type StoredObject } from "./object.tsx"
import { startUploads } from "./upload.ts"
import { ChooseFiles, Dropped, Uploads } from "./uploads.tsx"

interface Listed {
  readonly data: readonly StoredObject[]
  readonly delimited_prefixes: readonly string[]
  readonly cursor: string | null
}

const PAGE = 200
/** Of one request that deletes. */
const DELETED_MAX = 1_000

const useObjects = ({ bucket, surroundings }: Place, prefix: string) => {
  const [version, setVersion] = useState(0)
  const [more, setMore] = useState<{ readonly of: string; readonly pages: readonly Listed[] }>()
  const key = `${bucket} ${prefix} ${version}`
  const load = (cursor?: string) =>
    call<Listed>(
      "listObjects",
      { bucket, delimiter: "/", limit: PAGE, ...(prefix && { prefix }), ...(cursor && { cursor }) },
      surroundings,
      { quiet: true },
    )
  const first = useLoaded(key, () => load())
  const pages = first.state === "ready" ? [first.value, ...(more?.of === key ? more.pages : [])] : []
  const cursor = pages.at(-1)?.cursor ?? undefined
  const loadMore = async () => {
    const next = await load(cursor)
    setMore(known => ({ of: key, pages: [...(known?.of === key ? known.pages : []), next] }))
  }
  return { first, pages, cursor, loadMore, reload: () => setVersion(known => known + 1) }
}

const Path = ({ bucket, prefix }: { readonly bucket: string; readonly prefix: string }) => {
  const parts = prefix.split("/").filter(part => part !== "")
  return (
    <nav className="crumbs" aria-label="Folders">
      <a href={href("files")}>Buckets</a> <span aria-hidden="true">/</span>{" "}
      <a href={href("files", { bucket })}>{bucket}</a>
      {parts.map((part, at) => (
        <span key={parts.slice(0, at + 1).join("/")}>
          {" "}
          <span aria-hidden="true">/</span>{" "}
          <a href={href("files", { bucket, prefix: `${parts.slice(0, at + 1).join("/")}/` })}>{part}</a>
        </span>
      ))}
    </nav>
  )
}

const Table = ({
  bucket,
  prefix,
  folders,
  objects,
  selected,
  onSelect,
}: {
  readonly bucket: string
  readonly prefix: string
  readonly folders: readonly string[]
  readonly objects: readonly StoredObject[]
  readonly selected: ReadonlySet<string>
  readonly onSelect: (selected: ReadonlySet<string>) => void
}) => {
  const toggle = (key: string, isOn: boolean) => {
    const next = new Set(selected)
    if (isOn) next.add(key)
    else next.delete(key)
    onSelect(next)
  }
  const all = objects.length > 0 && objects.every(({ key }) => selected.has(key))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard
    <section className="table files" tabIndex={0} aria-label={`Objects of ${bucket}`}>
      <table>
        <thead>
          <tr>
            <th scope="col" className="check">
              <input
                type="checkbox"
                aria-label="Choose all"
                checked={all}
                onChange={event =>
                  onSelect(new Set(event.target.checked ? objects.map(({ key }) => key) : []))
                }
              />
            </th>
            <th scope="col">Name</th>
            <th scope="col" className="right">
              Size
            </th>
            <th scope="col">Type</th>
            <th scope="col">Changed</th>
          </tr>
        </thead>
        <tbody>
          {folders.map(folder => (
            <tr key={folder}>
              <td className="check" />
              <td>
                <a href={href("files", { bucket, prefix: folder })}>{folder.slice(prefix.length)}</a>
              </td>
              <td />
              <td className="soft">folder</td>
              <td />
            </tr>
          ))}
          {objects.map(({ key, size, http_metadata, last_modified }) => (
            <tr key={key}>
              <td className="check">
                <input
                  type="checkbox"
                  aria-label={`Choose ${key}`}
                  checked={selected.has(key)}
                  onChange={event => toggle(key, event.target.checked)}
                />
              </td>
              <td>
                <a href={href("files", { bucket, ...(prefix && { prefix }), key })}>
                  {key.slice(prefix.length) || key}
                </a>
              </td>
              <td className="right">{bytesOf(size)}</td>
              <td className="soft">{http_metadata.content_type ?? "–"}</td>
              <td>
                <Time time={last_modified} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const useDelete = ({ bucket, surroundings }: Place, done: () => void) => {
  const [isAsking, setAsking] = useState(false)
  const [error, setError] = useState<unknown>()
  const remove = async (keys: readonly string[]) => {
    setAsking(false)
    setError(undefined)
    try {
      for (let at = 0; at < keys.length; at += DELETED_MAX)
        await call("deleteObjects", { bucket, keys: keys.slice(at, at + DELETED_MAX) }, surroundings)
    } catch (refused) {
      setError(refused)
    }
    done()
  }
  return { isAsking, setAsking, error, remove }
}

export const Objects = ({
  place,
  prefix,
  shown,
}: {
  readonly place: Place
  readonly prefix: string
  readonly shown: string | null
}) => {
  const { bucket } = place
  const { first, pages, cursor, loadMore, reload } = useObjects(place, prefix)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const folders = pages.flatMap(({ delimited_prefixes }) => delimited_prefixes)
  const objects = pages.flatMap(({ data }) => data)
  const object = objects.find(({ key }) => key === shown)
  const deletion = useDelete(place, () => {
    setSelected(new Set())
    reload()
  })
  const upload = (files: readonly File[]) => startUploads(files, { ...place, prefix }, reload)
  const isEmpty = first.state === "ready" && objects.length + folders.length === 0
  return (
    <>
      <div className="head">
        <Path bucket={bucket} prefix={prefix} />
        <span className="line-buttons">
          {selected.size > 0 && (
            <button type="button" className="danger" onClick={() => deletion.setAsking(true)}>
              Delete {selected.size}
            </button>
          )}
          <ChooseFiles onFiles={upload} />
        </span>
      </div>
      <Uploads />
      <Problem error={first.state === "failed" ? first.reason : deletion.error} />
      <div className={object ? "split" : undefined}>
        <Dropped onFiles={upload}>
          {first.state === "loading" && <p className="soft">Loading …</p>}
          {isEmpty && (
            <div className="empty">
              <p>
                <strong>{prefix === "" ? "This bucket is empty." : "Nothing begins with this name."}</strong>{" "}
                Drop files here, or choose them with Upload.
              </p>
            </div>
          )}
          {objects.length + folders.length > 0 && (
            <Table {...{ bucket, prefix, folders, objects, selected }} onSelect={setSelected} />
          )}
          {cursor !== undefined && (
            <p>
              <button type="button" className="quiet" onClick={() => void loadMore()}>
                Show more
              </button>
            </p>
          )}
        </Dropped>
        {object && (
          <ObjectPanel
            key={object.key}
            object={object}
            place={place}
            onClose={() => setQuery({ key: null })}
            onChanged={reload}
          />
        )}
      </div>
      {deletion.isAsking && (
        <Ask
          title={`Delete ${selected.size} objects?`}
          verb={`Delete ${selected.size}`}
          onYes={() => void deletion.remove([...selected])}
          onNo={() => deletion.setAsking(false)}
        >
          <p>
            From <code>{bucket}</code>. With versions on, they can be restored; otherwise they are gone.
          </p>
        </Ask>
      )}
    </>
  )
}
