/** One row, column by column: what is changed here is staged, and not yet saved. */
import { type FormEvent, useState } from "react"
import { textOf } from "../sql/grid.tsx"
import { type Column, type Edit, keyOf, type Row, type Table } from "./sql.ts"

interface Typed {
  readonly text: string
  readonly isNull: boolean
}

const typedOf = (value: unknown): Typed =>
  value === null || value === undefined ? { text: "", isNull: true } : { text: textOf(value), isNull: false }

const LONG = 80

const Field = ({
  column,
  typed,
  isFixed,
  isNew,
  onChange,
}: {
  readonly column: Column
  readonly typed: Typed
  readonly isFixed: boolean
  readonly isNew: boolean
  readonly onChange: (typed: Typed) => void
}) => {
  const id = `row-${column.name}`
  const shared = {
    id,
    value: typed.isNull ? "" : typed.text,
    disabled: isFixed,
    placeholder: isFixed ? "made by the database" : isNew ? "default" : typed.isNull ? "null" : "empty",
    spellCheck: false,
    onChange: (event: { readonly target: { readonly value: string } }) =>
      onChange({ text: event.target.value, isNull: false }),
  }
  const isLong = typed.text.length > LONG || /^(json|jsonb|text\[\])/.test(column.full_type)
  return (
    <div className="field">
      <label htmlFor={id}>
        {column.name} <code className="field-name">{column.full_type}</code>
      </label>
      {isLong ? <textarea {...shared} className="code" rows={3} /> : <input {...shared} autoComplete="off" />}
      {column.is_nullable && !isFixed && !typed.isNull && (
        <button type="button" className="link small" onClick={() => onChange({ text: "", isNull: true })}>
          Set {column.name} to null
        </button>
      )}
    </div>
  )
}

const isMade = ({ is_generated, identity_generation }: Column): boolean =>
  is_generated === true || identity_generation === "ALWAYS"

/** Only what differs: a column that nobody touched keeps what others may have written meanwhile. */
const changesOf = (table: Table, row: Row | undefined, typed: Readonly<Record<string, Typed>>): Row =>
  Object.fromEntries(
    table.columns.flatMap(column => {
      const now = typed[column.name]
      if (!now || isMade(column)) return []
      const before = typedOf(row?.[column.name])
      if (row ? before.text === now.text && before.isNull === now.isNull : now.isNull) return []
      return [[column.name, now.isNull ? null : now.text] as const]
    }),
  )

export const RowPanel = ({
  table,
  row,
  onStage,
  onClose,
}: {
  readonly table: Table
  /** Undefined for a new one. */
  readonly row: Row | undefined
  readonly onStage: (edit: Edit) => void
  readonly onClose: () => void
}) => {
  const [typed, setTyped] = useState<Readonly<Record<string, Typed>>>(() =>
    Object.fromEntries(table.columns.map(({ name }) => [name, typedOf(row?.[name])])),
  )
  const key = row && keyOf(table, row)
  const isFixed = row !== undefined && key === undefined
  const values = changesOf(table, row, typed)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (row === undefined) onStage({ kind: "insert", values })
    else if (key) onStage({ kind: "update", key, values })
  }
  return (
    <form className="panel" aria-label={row ? "Row" : "New row"} onSubmit={submit}>
      <div className="head">
        <h2>{row ? "Row" : "New row"}</h2>
        <button type="button" className="quiet small" onClick={onClose}>
          Close
        </button>
      </div>
      {isFixed && <p className="notice">This table has no primary key, so its rows can only be read here.</p>}
      <div className="row-fields">
        {table.columns.map(column => (
          <Field
            key={column.name}
            column={column}
            typed={typed[column.name] ?? { text: "", isNull: true }}
            isFixed={isFixed || isMade(column)}
            isNew={row === undefined}
            onChange={now => setTyped(known => ({ ...known, [column.name]: now }))}
          />
        ))}
      </div>
      {!isFixed && (
        <p className="buttons">
          <button type="submit" disabled={row !== undefined && Object.keys(values).length === 0}>
            Stage
          </button>
          {key && (
            <button type="button" className="quiet" onClick={() => onStage({ kind: "delete", key })}>
              Stage its deletion
            </button>
          )}
        </p>
      )}
    </form>
  )
}
