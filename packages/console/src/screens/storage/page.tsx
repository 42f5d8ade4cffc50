/** Files: buckets, and what is in them. */
import { type FormEvent, useState } from "react"
import { call } from "../../api.ts"
import { bytesOf } from "../../derived/labels.ts"
import type { Surroundings } from "../../derived/request.ts"
import { go, href } from "../../router.ts"
import { useLoaded } from "../../ui/load.ts"
import { Problem } from "../../ui/problem.tsx"
import { Time } from "../../ui/value.tsx"
import type { ScreenProps } from "../props.ts"
import { Objects } from "./objects.tsx"

interface Bucket {
  readonly name: string
  readonly public: boolean
  readonly versioning: string
  readonly object_count: number
  readonly size_bytes: number
  readonly created_at: string
}

const NewBucket = ({ surroundings }: { readonly surroundings: Surroundings }) => {
  const [name, setName] = useState("")
  const [isPublic, setPublic] = useState(false)
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setError(undefined)
    try {
      await call("createBucket", { name, public: isPublic }, surroundings)
      go(href("files", { bucket: name }))
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <form className="line" onSubmit={submit} aria-label="New bucket">
      <input
        aria-label="Name of the new bucket"
        placeholder="New bucket: lower-case letters, digits, hyphens"
        required
        minLength={3}
        maxLength={63}
        autoComplete="off"
        spellCheck={false}
        value={name}
        onChange={event => setName(event.target.value)}
      />
      <label className="tick">
        <input type="checkbox" checked={isPublic} onChange={event => setPublic(event.target.checked)} />
        Anybody may read
      </label>
      <button type="submit">Create</button>
      <Problem error={error} />
    </form>
  )
}

const Table = ({ buckets }: { readonly buckets: readonly Bucket[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard
  <section className="table" tabIndex={0} aria-label="Buckets">
    <table>
      <thead>
        <tr>
          <th scope="col">Bucket</th>
          <th scope="col">Who may read</th>
          <th scope="col">Versions</th>
          <th scope="col" className="right">
            Objects
          </th>
          <th scope="col" className="right">
            Size
          </th>
          <th scope="col">Created</th>
          <th scope="col">
            <span className="unseen">Settings</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {buckets.map(({ name, public: isPublic, versioning, object_count, size_bytes, created_at }) => (
          <tr key={name}>
            <td>
              <a href={href("files", { bucket: name })}>{name}</a>
            </td>
            <td className={isPublic ? undefined : "soft"}>{isPublic ? "anybody" : "the project"}</td>
            <td className={versioning === "off" ? "soft" : undefined}>{versioning}</td>
            <td className="right">{object_count.toLocaleString("en")}</td>
            <td className="right">{bytesOf(size_bytes)}</td>
            <td>
              <Time time={created_at} />
            </td>
            <td>
              <a href={href("api/updateBucket", { "f.name": name })} aria-label={`Settings of ${name}`}>
                Settings
              </a>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

const Buckets = ({ surroundings }: { readonly surroundings: Surroundings }) => {
  const loaded = useLoaded(`buckets ${surroundings.project}`, async () => {
    const { data } = await call<{ readonly data: readonly Bucket[] }>(
      "listBuckets",
      { limit: 200 },
      surroundings,
      { quiet: true },
    )
    return data
  })
  return (
    <>
      <NewBucket surroundings={surroundings} />
      {loaded.state === "loading" && <p className="soft">Loading …</p>}
      <Problem error={loaded.state === "failed" ? loaded.reason : undefined} />
      {loaded.state === "ready" && loaded.value.length === 0 && (
        <div className="empty">
          <p>
            <strong>No bucket yet.</strong> A bucket holds files, which are read by HTTP, by signed links, or
            with any client of S3.
          </p>
        </div>
      )}
      {loaded.state === "ready" && loaded.value.length > 0 && <Table buckets={loaded.value} />}
    </>
  )
}

export const FilesPage = ({ surroundings, query }: ScreenProps) => {
  const bucket = query.get("bucket")
  const prefix = query.get("prefix") ?? ""
  return (
    <>
      <h1>Files</h1>
      {bucket === null ? (
        <Buckets surroundings={surroundings} />
      ) : (
        <Objects
          key={`${bucket} ${prefix}`}
          place={{ bucket, surroundings }}
          prefix={prefix}
          shown={query.get("key")}
        />
      )}
    </>
  )
}
