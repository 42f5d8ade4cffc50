/** A result as a grid: numbers to the right, null told from an empty text, long values cut until they are opened. */
import { useState } from "react"
import { Modal } from "../../ui/modal.tsx"

export interface Column {
  readonly name: string
  readonly type: string
}

const SHOWN_MAX = 500
const CELL_LENGTH_MAX = 120
const NUMBERS = /^(int[248]|float[48]|numeric|money|oid)$/

export const textOf = (value: unknown): string =>
  typeof value === "object" && value !== null ? JSON.stringify(value) : String(value)

const Cell = ({ value, onOpen }: { readonly value: unknown; readonly onOpen: () => void }) => {
  if (value === null || value === undefined) return <span className="none">null</span>
  const text = textOf(value)
  if (text === "") return <span className="none">empty</span>
  if (text.length <= CELL_LENGTH_MAX) return <>{text}</>
  return (
    <button type="button" className="cell-more" onClick={onOpen} title="Show all of it">
      {text.slice(0, CELL_LENGTH_MAX)}…
    </button>
  )
}

const whole = (value: unknown): string =>
  typeof value === "object" ? JSON.stringify(value, null, 2) : String(value)

export const Grid = ({
  columns,
  rows,
  label,
}: {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly unknown[])[]
  readonly label: string
}) => {
  const [opened, setOpened] = useState<{ readonly name: string; readonly value: unknown }>()
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard */}
      <section className="table grid" tabIndex={0} aria-label={label}>
        <table>
          <thead>
            <tr>
              <th scope="col" className="right">
                <span className="unseen">Row</span>
              </th>
              {columns.map(({ name, type }, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have one name
                <th key={at} scope="col" className={NUMBERS.test(type) ? "right" : undefined}>
                  {name} <span className="type">{type.replace(/^_(.*)/, "$1[]")}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, SHOWN_MAX).map((row, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows of a result have no name
              <tr key={at}>
                <td className="right none">{at + 1}</td>
                {columns.map(({ name, type }, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: two columns may have one name
                  <td key={column} className={NUMBERS.test(type) ? "right" : undefined}>
                    <Cell value={row[column]} onOpen={() => setOpened({ name, value: row[column] })} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {rows.length > SHOWN_MAX && (
        <p className="soft small">
          The first {SHOWN_MAX} of {rows.length.toLocaleString("en")} rows. The file has all of them.
        </p>
      )}
      {opened && (
        <Modal label={opened.name} onClose={() => setOpened(undefined)} className="wide">
          <h2>{opened.name}</h2>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard */}
          <pre tabIndex={0}>{whole(opened.value)}</pre>
          <p className="buttons">
            <button type="button" className="quiet" onClick={() => setOpened(undefined)}>
              Close
            </button>
          </p>
        </Modal>
      )}
    </>
  )
}
