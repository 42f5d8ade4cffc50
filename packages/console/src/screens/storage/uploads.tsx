/** Where files are dropped or chosen, and how far their uploads are. */
import { type DragEvent, type ReactNode, useState } from "react"
import { bytesOf } from "../../derived/labels.ts"
import { Status } from "../../ui/value.tsx"
import { forgetUploads, type Upload, uploads } from "./upload.ts"

const Line = ({ upload: { name, size, sent, state, error, stop } }: { readonly upload: Upload }) => (
  <li>
    <span className="upload-name">{name}</span>
    {state === "running" ? (
      <progress aria-label={`Upload of ${name}`} max={Math.max(1, size)} value={sent} />
    ) : (
      <Status text={state} />
    )}
    <span className="soft small number">
      {state === "running" ? `${bytesOf(sent)} of ${bytesOf(size)}` : bytesOf(size)}
    </span>
    {(state === "running" || state === "waiting") && (
      <button type="button" className="quiet small" onClick={stop}>
        Stop
      </button>
    )}
    {error !== undefined && (
      <span className="wrong small">{error instanceof Error ? error.message : String(error)}</span>
    )}
  </li>
)

export const Uploads = () => {
  const known = uploads.use()
  if (known.length === 0) return null
  const open = known.filter(({ state }) => state === "running" || state === "waiting").length
  return (
    <section className="uploads" aria-label="Uploads">
      <p className="soft small" role="status">
        {open > 0 ? `${open} of ${known.length} files to go` : `${known.length} files are through`}{" "}
        <button type="button" className="quiet small" onClick={forgetUploads}>
          Clear the list
        </button>
      </p>
      <ul>
        {known.map(upload => (
          <Line key={upload.id} upload={upload} />
        ))}
      </ul>
    </section>
  )
}

/** Takes what is dropped on its children; buttons beside it do the same without a mouse. */
export const Dropped = ({
  onFiles,
  children,
}: {
  readonly onFiles: (files: readonly File[]) => void
  readonly children: ReactNode
}) => {
  const [isOver, setOver] = useState(false)
  const over = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes("Files")) return
    event.preventDefault()
    setOver(true)
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a button beside it does the same
    <div
      className={`drop${isOver ? " over" : ""}`}
      onDragOver={over}
      onDragEnter={over}
      onDragLeave={() => setOver(false)}
      onDrop={event => {
        event.preventDefault()
        setOver(false)
        onFiles([...event.dataTransfer.files])
      }}
    >
      {children}
    </div>
  )
}

export const ChooseFiles = ({ onFiles }: { readonly onFiles: (files: readonly File[]) => void }) => (
  <label className="button">
    Upload
    <input
      type="file"
      multiple
      className="unseen"
      onChange={event => {
        onFiles([...(event.target.files ?? [])])
        event.target.value = ""
      }}
    />
  </label>
)
