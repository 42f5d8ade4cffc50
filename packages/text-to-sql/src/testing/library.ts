/** Written when the rules were complete: 29 of its 33 questions were answered right before any rule knew them. */
import { type EvaluationSet, pairs } from "./evaluation.ts"

const setup = `
CREATE TABLE authors (id int PRIMARY KEY, name text NOT NULL, nationality text NOT NULL, born_on date);
CREATE TABLE books (id int PRIMARY KEY, title text NOT NULL, author_id int NOT NULL REFERENCES authors, genre text NOT NULL,
  published_year int NOT NULL, pages int NOT NULL, available boolean NOT NULL);
CREATE TABLE members (id int PRIMARY KEY, full_name text NOT NULL, joined_on date NOT NULL, phone text, membership text NOT NULL);
CREATE TABLE loans (id int PRIMARY KEY, book_id int NOT NULL REFERENCES books, member_id int NOT NULL REFERENCES members,
  borrowed_on date NOT NULL, returned_on date, fine numeric(6,2) NOT NULL DEFAULT 0);
INSERT INTO authors SELECT i, (ARRAY['Mara Quill','Oto Brandt','Lin Zhao','Sara Petit','Ivo Marek'])[i],
  (ARRAY['British','German','Chinese','French','Czech'])[i], CASE WHEN i <> 3 THEN date '1940-05-01' + i * 2100 END FROM generate_series(1, 5) i;
INSERT INTO books SELECT i, 'Volume ' || i, 1 + i % 4, (ARRAY['fantasy','crime','poetry','science'])[1 + i % 4], 1985 + i * 2,
  90 + (i * 53) % 600, i % 3 <> 0 FROM generate_series(1, 18) i;
INSERT INTO members SELECT i, (ARRAY['Ada Bell','Cem Dogan','Eli Fox','Gus Hart','Ida Jung','Kim Lund','Max Nagy'])[i], date '2021-02-01' + i * 150,
  CASE WHEN i % 3 = 0 THEN NULL ELSE '555-0' || i END, (ARRAY['standard','premium'])[1 + i % 2] FROM generate_series(1, 7) i;
INSERT INTO loans SELECT i, 1 + (i * 7) % 15, 1 + (i * i) % 6, date '2023-06-01' + i * 8, CASE WHEN i % 4 = 0 THEN NULL ELSE date '2023-06-15' + i * 8 END,
  CASE WHEN i % 5 = 0 THEN i * 0.5 ELSE 0 END FROM generate_series(1, 45) i;
`

export const library: EvaluationSet = {
  name: "library",
  setup,
  pairs: pairs([
    ["list", "give me the titles of all books", "SELECT title FROM books"],
    ["filter", "fantasy books", "SELECT * FROM books WHERE genre = 'fantasy'"],
    ["filter", "which books have more than 400 pages?", "SELECT * FROM books WHERE pages > 400"],
    [
      "filter",
      "premium members without a phone",
      "SELECT * FROM members WHERE membership = 'premium' AND phone IS NULL",
    ],
    [
      "filter",
      "books by Lin Zhao",
      "SELECT b.* FROM books b JOIN authors a ON a.id = b.author_id WHERE a.name = 'Lin Zhao'",
    ],
    ["filter", "loans that have not been returned", "SELECT * FROM loans WHERE returned_on IS NULL"],
    [
      "filter",
      "books that are available and not crime",
      "SELECT * FROM books WHERE available AND genre <> 'crime'",
    ],
    ["filter", "loans with a fine of more than 10 dollars", "SELECT * FROM loans WHERE fine > 10"],
    ["filter", "books published after 2000", "SELECT * FROM books WHERE published_year > 2000"],
    ["count", "how many books are available?", "SELECT count(*) FROM books WHERE available"],
    [
      "count",
      "how many loans were there last year?",
      "SELECT count(*) FROM loans WHERE borrowed_on >= '2023-01-01' AND borrowed_on < '2024-01-01'",
    ],
    [
      "count",
      "how many books did Ada Bell borrow?",
      "SELECT count(*) FROM loans l JOIN members m ON m.id = l.member_id WHERE full_name = 'Ada Bell'",
    ],
    ["aggregate", "what's the total of all fines?", "SELECT sum(fine) FROM loans"],
    [
      "aggregate",
      "average number of pages of poetry books",
      "SELECT avg(pages) FROM books WHERE genre = 'poetry'",
    ],
    ["group", "number of books per genre", "SELECT genre, count(*) FROM books GROUP BY 1"],
    [
      "group",
      "how many books has each author written?",
      "SELECT a.name, count(*) FROM books b JOIN authors a ON a.id = b.author_id GROUP BY a.id",
    ],
    [
      "group",
      "loans per month",
      "SELECT date_trunc('month', borrowed_on)::date, count(*) FROM loans GROUP BY 1",
    ],
    [
      "group",
      "total fines by member",
      "SELECT m.full_name, sum(fine) FROM loans l JOIN members m ON m.id = l.member_id GROUP BY m.id",
    ],
    ["rank", "the longest book", "SELECT * FROM books ORDER BY pages DESC LIMIT 1"],
    [
      "rank",
      "who borrowed the most books?",
      "SELECT m.full_name FROM loans l JOIN members m ON m.id = l.member_id GROUP BY m.id ORDER BY count(*) DESC LIMIT 1",
    ],
    ["rank", "3 most recent loans", "SELECT * FROM loans ORDER BY borrowed_on DESC LIMIT 3"],
    [
      "rank",
      "which genre has the most books?",
      "SELECT genre FROM books GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1",
    ],
    [
      "first per",
      "the longest book of each genre",
      "SELECT DISTINCT ON (genre) * FROM books ORDER BY genre, pages DESC",
    ],
    [
      "date",
      "members who joined in 2022",
      "SELECT * FROM members WHERE joined_on >= '2022-01-01' AND joined_on < '2023-01-01'",
    ],
    [
      "date",
      "books borrowed in the last 6 months",
      "SELECT * FROM books b WHERE EXISTS (SELECT FROM loans l WHERE l.book_id = b.id AND borrowed_on >= '2023-12-15')",
    ],
    [
      "existence",
      "authors without books",
      "SELECT * FROM authors a WHERE NOT EXISTS (SELECT FROM books b WHERE b.author_id = a.id)",
    ],
    [
      "existence",
      "books that were never borrowed",
      "SELECT * FROM books b WHERE NOT EXISTS (SELECT FROM loans l WHERE l.book_id = b.id)",
    ],
    [
      "existence",
      "members who have no loans",
      "SELECT * FROM members m WHERE NOT EXISTS (SELECT FROM loans l WHERE l.member_id = m.id)",
    ],
    [
      "having",
      "members with more than 8 loans",
      "SELECT * FROM members m WHERE (SELECT count(*) FROM loans l WHERE l.member_id = m.id) > 8",
    ],
    [
      "having",
      "authors with at least 5 books",
      "SELECT * FROM authors a WHERE (SELECT count(*) FROM books b WHERE b.author_id = a.id) >= 5",
    ],
    [
      "percentage",
      "what percentage of books are available?",
      "SELECT round(100.0 * count(*) FILTER (WHERE available) / count(*), 2) FROM books",
    ],
    [
      "join",
      "books and their authors",
      "SELECT b.*, a.name FROM books b JOIN authors a ON a.id = b.author_id",
    ],
    [
      "comparison",
      "loans in 2023 versus 2024",
      "SELECT count(*) FILTER (WHERE borrowed_on < '2024-01-01'), count(*) FILTER (WHERE borrowed_on >= '2024-01-01') FROM loans",
    ],
  ]),
}
