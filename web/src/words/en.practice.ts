// SPDX-License-Identifier: MIT
// The English words of "Practice", apart: they are loaded with the chapter.

export const enPractice = {
  label: 'practice: exercises without end',
  walk: 'the walk that leads to the answer; arrow keys step',
  level: 'level',
  levels: ['one path', 'a longer path', 'a node used twice', 'which mistake is it?', 'many paths', 'squares, halves and relu', 'longer graphs', 'the longest graphs'],
  levelName: (level: number, name: string) => `${level}: ${name}`,
  number: (n: number) => `exercise ${n}`,
  linked: 'an exercise from a link',
  score: (right: number, all: number) => `${right} of ${all} right on the first try`,
  goal: 'Get two in a row right on the first try, and you reach the next level.',
  oneMore: 'Get one more right on the first try, and you reach the next level.',
  next: 'next exercise',
  skip: 'skip',
  up: (level: number) => `on to level ${level} →`,
  share: 'link to this exercise',
  address: 'the link to this exercise',
}
