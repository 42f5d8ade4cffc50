/**
 * `node tools/clients.ts`: installs the PostgreSQL clients of Python, Go and Java outside of this tree, in fixed
 * versions, and runs the tests of the printed connection string with them. A language that this machine has not is left
 * out, and its tests are skipped by name. Java needs a JDK and its driver (Debian: default-jdk-headless and
 * libpostgresql-jdbc-java). SVC_CLIENTS_DIR says where; what is there already is used again.
 */
import { spawnSync } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const PYTHON_PACKAGES = ["psycopg[binary]==3.2.10", "SQLAlchemy==2.0.44", "asyncpg==0.30.0"]
const PGX = "github.com/jackc/pgx/v5@v5.7.6"
const TESTS = "packages/server/src/areas/sql/wire/clients.test.ts"

const GO_PROGRAM = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

func main() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer conn.Close(ctx)
	var n int
	if err := conn.QueryRow(ctx, "select $1::int + 1", 41).Scan(&n); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(n)
}
`

const JDBC = "/usr/share/java/postgresql.jar"
const JAVA_PROGRAM = `import java.sql.*;

public class Clients {
  public static void main(String[] args) throws SQLException {
    int n = 0;
    try (Connection connection = DriverManager.getConnection(args[0])) {
      try (PreparedStatement statement = connection.prepareStatement("select ?::int + 1")) {
        // From the fifth run on the driver names the statement, and the server keeps it.
        for (int turn = 0; turn < 7; turn++) {
          statement.setInt(1, 41);
          try (ResultSet rows = statement.executeQuery()) {
            rows.next();
            n = rows.getInt(1);
          }
        }
      }
      connection.setAutoCommit(false);
      int rows = 0;
      try (Statement statement = connection.createStatement()) {
        // Read in parts, through a portal.
        statement.setFetchSize(2);
        try (ResultSet found = statement.executeQuery("select generate_series(1, 5)")) {
          while (found.next()) rows++;
        }
      }
      connection.commit();
      if (rows != 5) throw new SQLException(rows + " rows");
    }
    System.out.println(n);
  }
}
`

const folder = process.env.SVC_CLIENTS_DIR ?? join(tmpdir(), "svc-clients")

const has = (program: string, ...words: string[]): boolean => spawnSync(program, words).status === 0

const run = (program: string, words: readonly string[], cwd: string = folder): void => {
  const { status } = spawnSync(program, words, { cwd, stdio: "inherit" })
  if (status !== 0) throw new Error(`${program} ${words.join(" ")} ended with ${status}`)
}

const installPython = (): void => {
  const place = join(folder, "python")
  if (!existsSync(place)) run("python3", ["-m", "venv", place])
  run(join(place, "bin", "pip"), ["install", "--quiet", ...PYTHON_PACKAGES])
}

const installGo = (): void => {
  const place = join(folder, "go")
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, "main.go"), GO_PROGRAM)
  if (!existsSync(join(place, "go.mod"))) run("go", ["mod", "init", "clients"], place)
  run("go", ["get", PGX], place)
  run("go", ["build", "-o", "clients", "."], place)
}

const installJava = (): void => {
  const place = join(folder, "java")
  mkdirSync(place, { recursive: true })
  writeFileSync(join(place, "Clients.java"), JAVA_PROGRAM)
  run("javac", ["-d", place, join(place, "Clients.java")])
  copyFileSync(JDBC, join(place, "postgresql.jar"))
}

mkdirSync(folder, { recursive: true })
if (has("javac", "-version") && existsSync(JDBC)) installJava()
else process.stdout.write("javac or the JDBC driver is missing: it is left out\n")
if (has("python3", "-m", "venv", "--help")) installPython()
else process.stdout.write("python3 with venv is missing: its clients are left out\n")
if (has("go", "version")) installGo()
else process.stdout.write("go is missing: its client is left out\n")
const { status } = spawnSync(process.execPath, ["tools/test.ts", TESTS], {
  stdio: "inherit",
  env: { ...process.env, SVC_TEST_CLIENTS: folder },
})
process.exit(status ?? 1)
