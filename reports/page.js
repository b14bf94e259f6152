/* page.js - sorts and filters the tables. The page is whole without it. */
(function () {
  'use strict';

  var matrices = Array.prototype.slice.call(document.querySelectorAll('table.matrix'));
  var stress = document.getElementById('stress');
  var form = document.getElementById('filter');
  var query = document.getElementById('query');
  var found = document.getElementById('found');

  /* --- sorting: a click on a column's head --- */

  function key(row, column) {
    var cell = row.cells[column];
    if (cell.tagName === 'TH') return cell.textContent.trim();
    return cell.hasAttribute('data-rank') ? Number(cell.getAttribute('data-rank')) : null;
  }

  /* Rows without a value in the column stay at the end in both directions. */
  function compare(a, b, sign) {
    if (a === null || b === null) return (a === null) - (b === null);
    return sign * (typeof a === 'string' ? a.localeCompare(b) : a - b);
  }

  function sort(table, head, column) {
    var heads = head.parentNode.cells;
    var before = head.getAttribute('aria-sort');
    var isText = column === 0;
    var direction = before === null ? (isText ? 'ascending' : 'descending')
      : before === 'ascending' ? 'descending' : 'ascending';
    for (var i = 0; i < heads.length; i++) heads[i].removeAttribute('aria-sort');
    head.setAttribute('aria-sort', direction);
    var body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows);
    rows.sort(function (a, b) {
      return compare(key(a, column), key(b, column), direction === 'ascending' ? 1 : -1);
    });
    rows.forEach(function (row) { body.appendChild(row); });
  }

  function makeSortable(table) {
    if (!table) return;
    var heads = table.tHead.rows[table.tHead.rows.length - 1].cells;
    Array.prototype.forEach.call(heads, function (head, column) {
      var button = document.createElement('button');
      button.type = 'button';
      button.title = 'Sort by this column';
      while (head.firstChild) button.appendChild(head.firstChild);
      head.appendChild(button);
      button.addEventListener('click', function () { sort(table, head, column); });
    });
  }

  /* --- the filter: rows, columns and details with a match stay --- */

  function words(text) {
    return text.toLowerCase().split(/\s+/).filter(Boolean);
  }

  function matches(text, wanted) {
    var low = text.toLowerCase();
    return wanted.every(function (word) { return low.indexOf(word) >= 0; });
  }

  function cellText(row, cell) {
    var link = cell.querySelector('a');
    return row.cells[0].textContent + ' ' + cell.getAttribute('data-scheme') + ' ' +
      link.textContent + ' ' + link.title;
  }

  function spanSides(matrix, columns) {
    var sides = matrix.tHead.rows[0].cells;
    for (var i = 1; i < sides.length; i++) {
      var count = 0;
      var name = sides[i].classList.contains('naive') ? 'naive' : 'safe';
      var heads = matrix.tHead.rows[1].cells;
      for (var c = 1; c < heads.length; c++)
        count += heads[c].classList.contains(name) && columns[c];
      sides[i].hidden = count === 0;
      sides[i].colSpan = Math.max(count, 1);
    }
  }

  function filterMatrix(matrix, wanted) {
    var columns = [true];
    var rows = Array.prototype.slice.call(matrix.tBodies[0].rows);
    var count = 0;
    rows.forEach(function (row) {
      var has = false;
      for (var c = 1; c < row.cells.length; c++) {
        var cell = row.cells[c];
        if (cell.classList.contains('none')) continue;
        var hit = matches(cellText(row, cell), wanted);
        cell.classList.toggle('dim', !hit);
        has = has || hit;
        columns[c] = columns[c] || hit;
        count += hit;
      }
      row.hidden = !has;
    });
    rows.concat([matrix.tHead.rows[1]]).forEach(function (row) {
      for (var c = 1; c < row.cells.length; c++) row.cells[c].hidden = !columns[c];
    });
    spanSides(matrix, columns);
    return count;
  }

  function filterStress(wanted) {
    var count = 0;
    Array.prototype.forEach.call(stress.tBodies[0].rows, function (row) {
      row.hidden = !matches('stress ' + row.textContent, wanted);
      count += !row.hidden;
    });
    return count;
  }

  function filterDetails(wanted) {
    document.querySelectorAll('section.scenario').forEach(function (section) {
      var has = false;
      section.querySelectorAll('article').forEach(function (article) {
        var head = article.querySelector('h3').textContent + ' ' + article.querySelector('.badges').textContent;
        article.hidden = !matches(section.getAttribute('data-scenario') + ' ' + head + ' ' + article.id, wanted);
        has = has || !article.hidden;
      });
      section.hidden = !has;
    });
  }

  function filter() {
    var wanted = words(query.value);
    var count = 0;
    matrices.forEach(function (matrix) { count += filterMatrix(matrix, wanted); });
    if (stress) count += filterStress(wanted);
    filterDetails(wanted);
    found.textContent = wanted.length ? (count === 1 ? '1 result' : count + ' results') : '';
  }

  /* --- a link into the details shows the timeline there, whatever the filter hides --- */

  function reveal() {
    var target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || target.tagName !== 'ARTICLE') return;
    target.hidden = false;
    target.parentNode.hidden = false;
    var timeline = target.querySelector('details');
    if (timeline) timeline.open = true;
    target.scrollIntoView();
  }

  matrices.forEach(makeSortable);
  makeSortable(stress);
  form.hidden = false;
  form.addEventListener('submit', function (event) { event.preventDefault(); });
  query.addEventListener('input', filter);
  window.addEventListener('hashchange', reveal);
  reveal();
})();
